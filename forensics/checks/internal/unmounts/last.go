package unmounts

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// AtLast are the last steps, after all processes that can be stopped: what ends the waits for a file system that does not
// respond, how then to stop the waiting processes, and the unmount.
func AtLast(p *forensics.Pass, m mounts.Mount, waiting []forensics.Remedy) []forensics.Remedy {
	h, _ := p.Model.Health(m.Device)
	hung := h.Status == mounts.StatusHung
	switch {
	case hung && m.Class == mounts.ClassFUSE:
		abort := remedy.AbortFUSE(m)
		if len(waiting) == 0 {
			abort.Why += "; then umount -c " + shellword.Quote(m.MountPoint) + " succeeds"
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
		again.Why = "the mount is no longer in use: now the command unmounts it, and does not only end requests"
		return append(append([]forensics.Remedy{force}, waiting...), again)
	}
	return append(waiting, plainUnmount(p, m))
}

// plainUnmount unmounts what is not in use.
func plainUnmount(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	return remedy.Unmount(p, m, forensics.Remedy{
		Why:    "the kubelet unmounts it itself at its next try, within about two minutes; this is for a mount that the kubelet has forgotten",
		OnlyIf: "it is no longer in use: check with nodeforensics holders " + shellword.Quote(m.MountPoint),
		Risk: "none while it is not in use: a plain unmount fails rather than lose data. A lazy one (-l) hides a mount that is still written to; " +
			"never use it if the volume is to be attached to another node",
	}, "-c")
}
