package stall

import (
	"slices"
	"strings"

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
		if g.ID < 1 || g.ID == 1 && !cutMain(g) || g.CreatedBy != nil || g.State != "syscall" || g.WaitMinutes == 0 || s.thread(p) != nil || cutOrphans(g) {
			continue
		}
		if role := goroutines.RoleOf(g).ID; role != "" && role != roleOther && g.ID > 1 {
			continue
		}
		if t, ok := Stalled(p, s); ok && t.Proven && (t.Wait.Kind == WaitFile || t.Wait.Kind == WaitChild && mounting(g)) {
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

// mounting says whether a goroutine has started a program that mounts, unmounts or looks at a mount: none of these takes a minute.
func mounting(g goroutines.Goroutine) bool {
	return slices.ContainsFunc(g.Frames, func(f goroutines.Frame) bool {
		return strings.Contains(f.Func, "/util/mount.") || strings.Contains(f.Func, "/utils/mount.") || strings.Contains(f.Func, "k8s.io/mount-utils.")
	})
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

// cutMain says whether the first goroutine, which nobody has created, is in a call on a path, and the main function below that is cut off.
func cutMain(g goroutines.Goroutine) bool {
	return slices.ContainsFunc(g.Frames, func(f goroutines.Frame) bool { return onFile(f.Func) }) &&
		!slices.ContainsFunc(g.Frames, func(f goroutines.Frame) bool {
			return strings.HasPrefix(f.Func, "main.") || f.Func == "runtime.main" || strings.HasPrefix(f.Func, "k8s.io/kubernetes/") // which other checks know
		})
}
