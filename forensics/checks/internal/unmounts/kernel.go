package unmounts

import (
	"cmp"
	"fmt"
	"path"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// The grammar of uprobe events and of loop devices, which become words of a command.
var (
	eventName  = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*/[A-Za-z_][A-Za-z0-9_]*$`)
	loopDevice = pattern.New(`^/dev/loop[0-9]+$`)
)

// KernelText says how something in the kernel uses a mount.
func KernelText(k holders.KernelUser) string {
	switch k.Use {
	case holders.UseMount:
		return fmt.Sprintf("mount %d at %s is mounted on it", k.UserMount, k.What)
	case holders.UseLoop:
		text := fmt.Sprintf("loop device %s uses %s", k.What, k.Detail)
		if len(k.UsedBy) > 0 {
			text += ", and is itself in use by " + findings.Some(k.UsedBy)
		}
		return text
	case holders.UseSwap:
		return "swap is active in " + k.What
	case holders.UseImage:
		return fmt.Sprintf("image %s is mounted at %s (mount %d)", k.Detail, k.What, k.UserMount)
	case holders.UseBinfmt:
		return fmt.Sprintf("%s (binfmt_misc) has its interpreter %s open", k.What, k.Detail)
	case holders.UseUprobe:
		return fmt.Sprintf("uprobe event %s is set in %s", k.What, k.Detail)
	case holders.UseExport:
		return fmt.Sprintf("nfsd exports %s", k.What)
	case holders.UseSocket:
		return fmt.Sprintf("a socket is bound to %s, but no visible process has it open", k.What)
	}
	return fmt.Sprintf("%s %s", k.Use, k.What)
}

// KernelTitle names what in the kernel uses a mount, for a title.
func KernelTitle(k holders.KernelUser) string {
	switch k.Use {
	case holders.UseMount:
		return "the mount at " + k.What
	case holders.UseLoop:
		return "loop device " + k.What
	case holders.UseSwap:
		return "swap in " + k.What
	case holders.UseImage:
		return "the image mounted at " + k.What
	case holders.UseBinfmt:
		return "binfmt_misc " + path.Base(k.What)
	case holders.UseUprobe:
		return "uprobe event " + k.What
	case holders.UseExport:
		return "the NFS export " + k.What
	case holders.UseSocket:
		return "a socket bound to " + k.What
	}
	return fmt.Sprintf("%s %s", k.Use, k.What)
}

// FreeKernel is the step that ends one use of a mount by the kernel.
func FreeKernel(p *forensics.Pass, k holders.KernelUser) forensics.Remedy {
	r := forensics.Remedy{Why: KernelText(k), OnlyIf: "it is no longer needed"}
	r.Action = remedy.ActionFree
	switch k.Use {
	case holders.UseMount, holders.UseImage:
		r.Action, r.Risk = remedy.ActionUnmount, "fails while that mount is in use itself, which is safe"
		m, _ := p.Model.Host().ByID(k.UserMount)
		return remedy.Unmount(p, cmp.Or(m, mounts.Mount{ID: k.UserMount, MountPoint: k.What}), r, "-c")
	case holders.UseLoop:
		if len(k.UsedBy) > 0 {
			r.OnlyIf += ", and its users have been unmounted or removed: " + findings.Some(k.UsedBy)
		}
		r.Risk = "while it is mounted or open, nothing happens yet: it is detached when its last user ends"
		if loopDevice.MatchString(k.What) {
			return remedy.Run(r, r.Action, "losetup", "-d", k.What)
		}
		return remedy.Tell(r, r.Action, "Detach the loop device "+shellword.Quote(k.What))
	case holders.UseSwap:
		r.Risk = "the swapped-out data must fit into memory"
		return remedy.OnPath(r, k.What, "Turn the swap off in", "swapoff")
	case holders.UseBinfmt:
		r.Risk = "programs for other architectures do not start on the host and in containers until it is registered again"
		return remedy.Tell(r, r.Action, "Unregister the interpreter: write -1 to "+shellword.Quote(k.What))
	case holders.UseUprobe:
		r.Risk = "its tracer sees no more events; refused while it is enabled"
		if eventName.MatchString(k.What) {
			return remedy.Run(r, r.Action, "sh", "-c", `echo "-:$1" >> /sys/kernel/tracing/uprobe_events`, "sh", k.What)
		}
		return remedy.Tell(r, r.Action, "Remove the uprobe event "+shellword.Quote(k.What))
	case holders.UseExport:
		r.Risk = "NFS clients lose that directory"
		if remedy.IsPath(k.What) {
			return remedy.Run(r, r.Action, "exportfs", "-u", "*:"+k.What) //nolint:misspell // exportfs(8)
		}
		return remedy.Tell(r, r.Action, "Unexport "+shellword.Quote(k.What))
	}
	r.Risk = "its clients can no longer connect"
	return remedy.Tell(r, remedy.ActionStop, "Stop the process that has bound "+shellword.Quote(k.What)+" (ss -xlp)")
}
