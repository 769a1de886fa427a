// Package mountuse is how checks look at what uses mounts.
package mountuse

import (
	"fmt"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// Needs is what checks about the use of mounts need.
var Needs = []forensics.Need{{forensics.SourceHolders}}

// Of is what was seen to keep mounts in use; empty if nothing was.
func Of(p *forensics.Pass) forensics.MountUse {
	if p.Evidence.MountUse == nil {
		return forensics.MountUse{}
	}
	return *p.Evidence.MountUse
}

// How says by what a process holds something.
func How(h holders.Holder) string {
	switch h.Kind {
	case holders.HoldCwd:
		return "as its working directory"
	case holders.HoldRoot:
		return "as its root directory"
	case holders.HoldExe:
		return "as the program that it runs"
	case holders.HoldSocket:
		return fmt.Sprintf("with a socket bound to %q as descriptor %d", h.Path, h.FD)
	case holders.HoldRing:
		return fmt.Sprintf("with %q registered with its io_uring, descriptor %d", h.Path, h.FD)
	case holders.HoldMap:
		return fmt.Sprintf("with %q in its memory", h.Path)
	}
	return fmt.Sprintf("with %q open as descriptor %d", h.Path, h.FD)
}

// PIDs lists the processes of holders, each once, in their order.
func PIDs(list []holders.Holder) []int {
	var pids []int
	seen := map[int]bool{}
	for _, h := range list {
		if !seen[h.PID] {
			seen[h.PID] = true
			pids = append(pids, h.PID)
		}
	}
	return pids
}

// Ref quotes what a process holds.
func Ref(h holders.Holder) forensics.Ref {
	text := h.String()
	if h.Deleted {
		text += " (deleted)"
	}
	if h.ByPath {
		text += " (mount told by path)"
	}
	return forensics.Ref{Source: forensics.SourceHolders + ":" + strconv.Itoa(h.PID), Excerpt: text}
}

// InOtherUserNS says whether a process is known to be in another user namespace than this program was, where whoever is root can
// mount and unmount as he likes.
func InOtherUserNS(p *forensics.Pass, process procs.Process) bool {
	own := Of(p).UserNS
	return own != 0 && process.UserNS != 0 && process.UserNS != own
}

// ByProcess is what a process holds.
func ByProcess(p *forensics.Pass, pid int) []holders.Holder {
	return forensics.Once(p, "holders by process", func() map[int][]holders.Holder {
		by := map[int][]holders.Holder{}
		for _, h := range Of(p).Holders {
			by[h.PID] = append(by[h.PID], h)
		}
		return by
	})[pid]
}
