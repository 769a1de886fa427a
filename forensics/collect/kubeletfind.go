package collect

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

func (c *collector) findKubelet(ctx context.Context) (forensics.Evidence, error) {
	e := c.seen()
	k := kubeletlive.Find(ctx, c.fs, kubeletCandidates(&e), kubeletlive.FindOptions{
		RootDir: c.opt.KubeletRoot, HostMountNS: ownNamespace(c.fs), Group: c.opt.Calls,
	})
	part := forensics.Evidence{Kubelet: &k}
	for _, s := range k.Sources {
		if s.Status != string(forensics.SourceRead) {
			part.Coverage = append(part.Coverage, forensics.Source{
				Source: forensics.SourceKubelet + ":" + s.Path, Status: forensics.SourceStatus(s.Status), Detail: s.Path + ": " + s.Detail,
			})
		}
	}
	if k.PID == 0 && k.Expected == "" && k.RootDir == "" {
		if len(k.Impostors) == 0 {
			part.Kubelet = nil
		}
		return part, fmt.Errorf("no kubelet runs here and nothing says that one should: %w", fs.ErrNotExist)
	}
	if k.Unproven != "" {
		part.Coverage = append(part.Coverage, forensics.Source{Source: forensics.SourceKubelet, Status: forensics.SourceRead, Detail: unproven(k)})
	}
	return part, nil
}

func unproven(k kubelet.Instance) string {
	return fmt.Sprintf("cannot tell whether process %d is the kubelet of this node: it %s", k.PID, k.Unproven)
}

// kubeletCandidates are the processes that call themselves kubelet, with what is known against them.
func kubeletCandidates(e *forensics.Evidence) []kubelet.Candidate {
	var list []kubelet.Candidate
	for i := range e.Processes {
		p := &e.Processes[i]
		if _, ok := kubelet.IsCandidate(p.Comm, p.Command); !ok {
			continue
		}
		candidate := kubelet.Candidate{
			PID: p.PID, PPID: p.PPID, StartTicks: p.StartTicks, Comm: p.Comm, Args: p.Command, State: p.State, Started: p.Started,
			MountNS: p.MountNS, Container: p.ContainerID != "",
		}
		if id := p.Identity; id != nil {
			candidate.Executable = id.Executable
		}
		switch v := p.Daemon(kubelet.Programs...); v.Status {
		case procs.Impostor:
			candidate.Doubt = v.Why
		case procs.Undetermined, procs.Unrecorded: // this version records it of all that call themselves so
			candidate.Doubt, candidate.Undetermined = cmp.Or(v.Why, "was not examined"), true
		}
		list = append(list, candidate)
	}
	return list
}

// kubeletFS is the file system as the kubelet sees it; done closes what was opened for it.
func (c *collector) kubeletFS(k *kubelet.Instance) (fsys *hostfs.FS, done func(), err error) {
	if !c.inOtherMountNS(k) {
		return c.fs, func() {}, nil
	}
	fsys, err = kubeletlive.ProcessFS(c.fs, k.PID)
	if err != nil {
		return nil, nil, err
	}
	return fsys, func() { _ = fsys.Close() }, nil
}

// inOtherMountNS says whether a running kubelet is in another mount namespace than this process.
func (c *collector) inOtherMountNS(k *kubelet.Instance) bool {
	return k.PID != 0 && c.fs.Live() && k.MountNS != 0 && k.MountNS != ownNamespace(c.fs)
}
