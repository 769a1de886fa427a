// Package mountuse is how checks look at what uses mounts.
package mountuse

import (
	"fmt"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
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

// How says how a process uses a mount, in words that follow its name.
func How(h holders.Holder) string {
	switch h.Kind {
	case holders.HoldCwd:
		return "has its working directory there"
	case holders.HoldRoot:
		return "has its root directory there"
	case holders.HoldExe:
		return "runs a program from it"
	case holders.HoldSocket:
		return fmt.Sprintf("has a socket bound to %q (descriptor %d)", h.Path, h.FD)
	case holders.HoldRing:
		return fmt.Sprintf("has %q registered with its io_uring (descriptor %d)", h.Path, h.FD)
	case holders.HoldMap:
		return fmt.Sprintf("has %q mapped into memory", h.Path)
	}
	return fmt.Sprintf("has %q open (descriptor %d)", h.Path, h.FD)
}

// ByProcessText says of each process once how it uses a mount, with its pod: "process 4711 (postgres) has "/data/log" open
// (descriptor 7), has its working directory there".
func ByProcessText(p *forensics.Pass, list []holders.Holder) []string {
	var texts []string
	for _, pid := range PIDs(list) {
		texts = append(texts, findings.ProcessName(p, pid)+" "+AllOf(list, pid))
	}
	return texts
}

// AllOf says how one process uses a mount: each open file and directory of it, the first three by name.
func AllOf(list []holders.Holder, pid int) string {
	var ways []string
	for _, h := range list {
		if h.PID == pid {
			ways = append(ways, How(h))
		}
	}
	return findings.Some(ways)
}

// PIDs lists the processes of a list, each once, in their order.
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

// Ref quotes how a process uses a mount.
func Ref(h holders.Holder) forensics.Ref {
	text := h.String()
	if h.Deleted {
		text += " (deleted)"
	}
	if h.ByPath {
		text += " (mount known only by path)"
	}
	return forensics.Ref{Source: forensics.SourceHolders + ":" + strconv.Itoa(h.PID), Excerpt: text}
}

// InOtherUserNS says whether a process is known to be in another user namespace than this program was. Root of that namespace can
// mount and unmount anything there.
func InOtherUserNS(p *forensics.Pass, process procs.Process) bool {
	own := Of(p).UserNS
	return own != 0 && process.UserNS != 0 && process.UserNS != own
}

// ByProcess is what a process has open on the mounts of the evidence.
func ByProcess(p *forensics.Pass, pid int) []holders.Holder {
	return forensics.Once(p, "holders by process", func() map[int][]holders.Holder {
		by := map[int][]holders.Holder{}
		for _, h := range Of(p).Holders {
			by[h.PID] = append(by[h.PID], h)
		}
		return by
	})[pid]
}
