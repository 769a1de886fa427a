package live

import (
	"context"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/procstat"
)

// FindOptions are the options of [Find]. The zero value is useful.
type FindOptions struct {
	// RootDir is the kubelet's root directory where the caller knows better than the node.
	RootDir string
	// HostMountNS is the inode of the mount namespace that the caller's file system belongs to; 0 is unknown. A kubelet
	// in another one is asked for its files through /proc/PID/root.
	HostMountNS uint64
	// Group remembers calls that do not come back; nil remembers none.
	Group *probe.Group
	// Timeout is for all of it, 5 s by default. No single file is waited for longer than 2 s.
	Timeout time.Duration
}

const (
	defaultFindTimeout = 5 * time.Second
	fileTimeout        = 2 * time.Second
)

// Find returns the kubelet among the candidates, with what its command line and its files say. The candidates are
// what [kubelet.IsCandidate] accepts; there are none on the disk of a node that is down, and then the result is what the files
// on that disk say, without a PID.
//
// Find always returns, at the latest when ctx or the timeout ends: each file is read under [probe.Do]. What could not
// be read is in Sources.
func Find(ctx context.Context, fsys *hostfs.FS, candidates []kubelet.Candidate, opt FindOptions) kubelet.Instance {
	if opt.Timeout <= 0 {
		opt.Timeout = defaultFindTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, opt.Timeout)
	defer cancel()

	d := disk{ctx: ctx, fs: fsys, group: opt.Group, limit: fileTimeout}
	c := kubelet.Choose(candidates, opt.HostMountNS)
	in := kubelet.Instance{}
	if p := c.Kubelet; p != nil {
		if p.Executable == "" {
			p.Executable, _ = d.ReadLink(procPath(p.PID, "exe"))
		}
		own, err := d.enter(*p, opt.HostMountNS)
		switch {
		case err != nil:
			in.Note(procPath(p.PID, "root"), err)
		case own != nil:
			defer func() { _ = own.Close() }()
			d.fs = own
		}
		if in.Version = d.version(p.Executable); in.Version != "" {
			in.VersionFrom = "binary"
		}
	}
	in.Read(d, c, opt.RootDir)
	return in
}

// enter opens the files that a process sees, where they are others than the disk's; nil where they are not. What is only
// perhaps the kubelet is not entered.
func (d disk) enter(p kubelet.Candidate, hostMountNS uint64) (*hostfs.FS, error) {
	if p.Doubt != "" {
		return nil, nil
	}
	root := procPath(p.PID, "root")
	if link, err := d.ReadLink(root); !p.InOtherMountNS(hostMountNS) && (err != nil || link == "/") {
		return nil, nil
	}
	own, err := onDisk(d, root, func() (*hostfs.FS, error) { return ProcessFS(d.fs, p.PID) })
	if err != nil {
		return nil, err
	}
	if err := procstat.Same(d.fs, p.PID, p.StartTicks); err != nil {
		_ = own.Close()
		return nil, err
	}
	return own, nil
}
