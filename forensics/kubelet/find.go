package kubelet

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
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
	// maxImpostors bounds the list of them: a pod can have as many as it likes.
	maxImpostors       = 100
	defaultFindTimeout = 5 * time.Second
	fileTimeout        = 2 * time.Second
)

// Find returns the kubelet among the candidates, with what its command line and its files say. The candidates are
// what [IsCandidate] accepts; there are none on the disk of a node that is down, and then the result is what the files
// on that disk say, without a PID.
//
// Find always returns, at the latest when ctx or the timeout ends: each file is read under [probe.Do]. What could not
// be read is in Sources.
func Find(ctx context.Context, fsys *hostfs.FS, candidates []Candidate, opt FindOptions) Instance {
	if opt.Timeout <= 0 {
		opt.Timeout = defaultFindTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, opt.Timeout)
	defer cancel()

	f := &finder{
		disk: disk{fs: fsys, group: opt.Group, limit: fileTimeout},
		in:   Instance{Flags: map[string]string{}, Endpoints: []Endpoint{}, Sources: []Source{}},
	}
	c := choose(candidates, opt.HostMountNS)
	p := c.kubelet
	f.in.Others, f.in.Impostors = c.others, c.impostors[:min(len(c.impostors), maxImpostors)]
	f.in.MoreImpostors = len(c.impostors) - len(f.in.Impostors)
	var service unit
	if p != nil {
		f.identify(ctx, *p)
		defer f.enter(ctx, *p, opt.HostMountNS)()
		f.readFlags(ctx, p.program, p.supervises(), p.Args)
		f.readVersion(ctx)
	} else if u, ok := f.findUnit(ctx); ok {
		service = u
		f.in.Program = u.program
		f.readFlags(ctx, u.program, u.program == programRKE2 || u.program == programK0s, u.args)
	}
	f.findRoot(ctx, opt.RootDir)
	f.readConfig(ctx)
	f.in.StaticPodPath = f.staticPodPath()
	f.in.NodeName = f.in.nodeName()
	if p == nil {
		f.in.Expected = f.expected(ctx, service)
	}
	return f.in
}

// A finder collects what is known of one instance.
type finder struct {
	disk disk // as the kubelet sees it
	in   Instance
	// dataDir is where k3s and rke2 keep everything but the pods.
	dataDir string
}

func (f *finder) identify(ctx context.Context, p process) {
	f.in.PID, f.in.State, f.in.Program = p.PID, p.State, p.program
	f.in.Executable, f.in.MountNS = p.Executable, p.MountNS
	f.in.StartTicks, f.in.Unproven = p.StartTicks, p.Doubt
	if p.Executable == "" {
		f.in.Executable, _ = f.disk.readLink(ctx, procPath(p.PID, "exe"))
	}
	if !p.Started.IsZero() {
		f.in.Started = &p.Started
	}
}

// enter makes the finder see what the process sees, where that differs, and returns what undoes it. What is only perhaps
// the kubelet is not entered.
func (f *finder) enter(ctx context.Context, p process, hostMountNS uint64) (leave func()) {
	leave = func() {}
	if p.Doubt != "" {
		return leave
	}
	root := procPath(p.PID, "root")
	if link, err := f.disk.readLink(ctx, root); !p.elsewhere(hostMountNS) && (err != nil || link == "/") {
		return leave
	}
	own, err := onDisk(ctx, f.disk, root, func() (*hostfs.FS, error) { return ProcessFS(f.disk.fs, p.PID) })
	if err == nil {
		if err = sameProcess(f.disk.fs, p.PID, p.StartTicks); err != nil {
			_ = own.Close()
		}
	}
	if err != nil {
		f.note(root, err)
		return leave
	}
	f.disk.fs = own
	return func() { _ = own.Close() }
}

// read reads a file that should be there.
func (f *finder) read(ctx context.Context, name string, limit int64) ([]byte, bool) {
	data, err := f.disk.readFile(ctx, name, limit)
	f.note(name, err)
	return data, err == nil
}

// readIfThere reads a file whose absence means nothing.
func (f *finder) readIfThere(ctx context.Context, name string, limit int64) ([]byte, bool) {
	data, err := f.disk.readFile(ctx, name, limit)
	if !errors.Is(err, fs.ErrNotExist) {
		f.note(name, err)
	}
	return data, err == nil
}

// note records what became of a file, once.
func (f *finder) note(name string, err error) {
	s := sourceOf(name, err)
	known := slices.IndexFunc(f.in.Sources, func(old Source) bool { return old.Path == name })
	if known < 0 {
		f.in.Sources = append(f.in.Sources, s)
	} else if err != nil {
		f.in.Sources[known] = s
	}
}

// nodeName returns the name that the kubelet was told to use.
func (in *Instance) nodeName() string {
	for _, name := range []string{"hostname-override", "node-name"} {
		if value := in.flag(name); value != "" {
			return value
		}
	}
	return ""
}

// expected says why a kubelet should run here: a unit, or pods that one has left.
func (f *finder) expected(ctx context.Context, u unit) string {
	if u.path != "" {
		return "unit " + u.path
	}
	if pods := path.Join(f.in.CanonicalRoot, "pods"); f.in.RootDir != "" && f.hasEntries(ctx, pods) {
		return "directory " + path.Join(f.in.RootDir, "pods")
	}
	return ""
}

func (f *finder) hasEntries(ctx context.Context, dir string) bool {
	entries, err := f.disk.readDir(ctx, dir, 1)
	if s := sourceOf(dir, err); s.Status == "timeout" || s.Status == "denied" {
		f.note(dir, err)
	}
	return len(entries) > 0
}
