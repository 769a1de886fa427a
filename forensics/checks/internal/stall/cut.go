package stall

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// roleOther is the role of a goroutine of which only the function that started it is known.
const roleOther = "other"

// CutStacks lists the goroutines that provably wait in a call on a file, and of which nothing tells who called it: the outer frames
// are cut off. Of other programs than the kubelet it lists those that wait for a disk to have written, of which the check of requests has
// nothing: no program does that for minutes. The longest wait comes first.
func CutStacks(p *forensics.Pass) []Goroutine {
	var found []Goroutine
	for s := range Stacks(p) {
		g := s.Goroutine
		if g.ID <= 1 || g.CreatedBy != nil || g.State != "syscall" || g.WaitMinutes == 0 || s.thread(p) != nil {
			continue
		}
		if role := goroutines.RoleOf(g).ID; role != "" && role != roleOther {
			continue
		}
		if t, ok := Stalled(p, s); ok && t.Proven && t.Wait.Kind == WaitFile {
			found = append(found, t)
		}
	}
	for s := range Others(p) {
		if g := s.Goroutine; g.State == "syscall" && g.WaitMinutes > 0 && s.thread(p) == nil && syncs(g) {
			if t, ok := Stalled(p, s); ok && t.Proven {
				found = append(found, t)
			}
		}
	}
	sorting.Stable(found, Compare)
	return found
}

// syncs says whether a goroutine that serves no request waits until a file is on the disk.
func syncs(g goroutines.Goroutine) bool {
	if _, method := g.Serves(); method != "" {
		return false
	}
	switch g.SyscallName() {
	case "fsync", "fdatasync", "sync", "syncfs", "msync":
		return true
	}
	return false
}
