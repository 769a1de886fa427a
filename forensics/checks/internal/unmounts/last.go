package unmounts

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// AtLast are the last steps, when all are stopped that can be: what ends the waits for a file system that does not
// answer, how then to stop those that were waiting, and the unmount.
func AtLast(p *forensics.Pass, m mounts.Mount, waiting []forensics.Remedy) []forensics.Remedy {
	h, _ := p.Model.Health(m.Device)
	hung := h.Status == mounts.StatusHung
	switch {
	case hung && m.Class == mounts.ClassFUSE:
		abort := remedy.AbortFUSE(m)
		if len(waiting) == 0 {
			abort.Why += "; then umount -c " + shellword.Quote(m.MountPoint) + " goes through"
			return []forensics.Remedy{abort}
		}
		return append(append([]forensics.Remedy{abort}, waiting...), plainUnmount(p, m))
	case hung && remedy.IsSMB(m):
		return append(waiting, remedy.LazyUnmount(p, m))
	case hung && m.Class == mounts.ClassNetwork:
		force := remedy.ForceUnmount(p, m)
		if len(waiting) == 0 {
			return []forensics.Remedy{force}
		}
		again := force
		again.Action = remedy.ActionUnmount
		again.Why = "nothing holds it any more: now it does not only end requests, but unmounts"
		return append(append([]forensics.Remedy{force}, waiting...), again)
	}
	return append(waiting, plainUnmount(p, m))
}

// plainUnmount unmounts what nothing holds.
func plainUnmount(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	return remedy.Unmount(p, m, forensics.Remedy{
		Why:    "the kubelet does it itself at its next try, within about two minutes; this is for a mount that it has forgotten",
		OnlyIf: "nothing holds it any more: nodeforensics holders " + shellword.Quote(m.MountPoint),
		Risk:   "none while nothing holds it: a plain unmount fails rather than lose data. A lazy one (-l) hides a mount that is still written to; never use it before the volume is attached to another node",
	}, "-c")
}
