package unmounts

import (
	"cmp"
	"fmt"
	"regexp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// The grammar of uprobe events and of loop devices, which become words of a command.
var (
	eventName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*/[A-Za-z_][A-Za-z0-9_]*$`)
	loopDevice = regexp.MustCompile(`^/dev/loop[0-9]+$`)
)

// KernelText says what in the kernel uses a mount.
func KernelText(k holders.KernelUser) string {
	switch k.Use {
	case holders.UseMount:
		return fmt.Sprintf("mount %d at %s lies on it", k.UserMount, k.What)
	case holders.UseLoop:
		text := fmt.Sprintf("loop device %s uses %s", k.What, k.Detail)
		if len(k.UsedBy) > 0 {
			text += ", and is itself in use by " + findings.Some(k.UsedBy)
		}
		return text
	case holders.UseSwap:
		return "swap is on in " + k.What
	case holders.UseImage:
		return fmt.Sprintf("%s is mounted at %s (mount %d)", k.Detail, k.What, k.UserMount)
	case holders.UseBinfmt:
		return fmt.Sprintf("%s (binfmt_misc) has its interpreter %s open", k.What, k.Detail)
	case holders.UseUprobe:
		return fmt.Sprintf("uprobe event %s is in %s", k.What, k.Detail)
	case holders.UseExport:
		return fmt.Sprintf("nfsd exports %s", k.What)
	case holders.UseSocket:
		return fmt.Sprintf("a socket is bound to %s, which no process that can be seen has open", k.What)
	}
	return fmt.Sprintf("%s %s", k.Use, k.What)
}

// FreeKernel is the step that ends one use of a mount by the kernel.
func FreeKernel(p *forensics.Pass, k holders.KernelUser) forensics.Remedy {
	r := forensics.Remedy{Why: KernelText(k), Precondition: "nobody needs it any more"}
	switch k.Use {
	case holders.UseMount, holders.UseImage:
		r.Stage, r.Risk = forensics.StageUnmount, "fails while that mount is in use itself, which is the safe answer"
		m, _ := p.Model.Host().ByID(k.UserMount)
		return remedy.Unmount(p, cmp.Or(m, mounts.Mount{ID: k.UserMount, MountPoint: k.What}), "-c", r)
	case holders.UseLoop:
		if len(k.UsedBy) > 0 {
			r.Precondition += ", and what uses it has been unmounted or removed: " + findings.Some(k.UsedBy)
		}
		r.Command, r.Risk = "Detach the loop device "+remedy.Quote(k.What), "while somebody has it mounted or open nothing happens yet: it goes with its last user"
		if loopDevice.MatchString(k.What) {
			r.Command = "losetup -d " + k.What
		}
	case holders.UseSwap:
		r.Command, r.Risk = remedy.WithPath("swapoff ", k.What, "Turn the swap off in"), "what is swapped out has to fit into memory"
	case holders.UseBinfmt:
		r.Command = "Unregister the interpreter: write -1 to " + remedy.Quote(k.What)
		r.Risk = "programs for other machines do not start any more, on the host and in containers, until it is registered again"
	case holders.UseUprobe:
		r.Command, r.Risk = "Remove the uprobe event "+remedy.Quote(k.What), "who traces with it sees no more events; refused while it is enabled"
		if eventName.MatchString(k.What) {
			r.Command = "echo -:" + k.What + " >> /sys/kernel/tracing/uprobe_events"
		}
	case holders.UseExport:
		r.Command, r.Risk = remedy.WithPath("exportfs -u '*':", k.What, "Unexport"), "NFS clients lose that directory" //nolint:misspell // exportfs(8)
	default:
		r.Command, r.Risk = "Stop the process that has bound "+remedy.Quote(k.What)+" (ss -xlp)", "its clients cannot connect any more"
	}
	return r
}
