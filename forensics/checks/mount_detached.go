package checks

import (
	"fmt"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/mountuse"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// mountDetached finds mounts that are in no mount table and still in use.
var mountDetached = forensics.Check{
	ID:    "mount-detached",
	Title: "A mount that is in no table is still in use",
	Doc: `A descriptor or mapped file whose mount (mnt_id in /proc/PID/fdinfo, the device in /proc/PID/maps) is in the mount
table of no namespace: it was unmounted lazily (umount -l) and lives on until its last user lets go. Before Linux 6.12 its
namespace may as well be one without processes, which a descriptor or a bind mount keeps: those are named then. df and findmnt do not show it, its disk or server stays in use, and threads
that wait for it go on waiting. A working or root directory on such a mount is not noticed: only its path is known, and
that misleads. Left out are the kernel's own mounts, as of memory and message queues, and what processes hold whose
namespace is seen from a chroot alone; and everything if this program does not see the processes of the whole machine,
since a container's output goes to files of a namespace outside. A descriptor of the root of such a mount alone is how runtimes prepare mounts (open_tree(2)), and only
information. So is one that only processes of another user namespace hold: those can mount and unmount for themselves. Needs Linux 3.15.`,
	Severity: forensics.Warning,
	Needs:    mountuse.Needs,
	Run: func(p *forensics.Pass) {
		type key struct {
			id     int
			device string
		}
		groups, order := map[key][]holders.Holder{}, []key{}
		for _, h := range mountuse.Of(p).Holders {
			if !p.Model.Uses().Detached(h) {
				continue
			}
			k := key{id: h.MountID}
			if h.MountID == 0 {
				k.device = h.Device
			}
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], h)
		}
		for _, k := range order {
			p.Report(detachedFinding(p, k.id, k.device, groups[k]))
		}
	},
}

func detachedFinding(p *forensics.Pass, id int, device string, list []holders.Holder) forensics.Finding {
	name, subject := "mount "+strconv.Itoa(id), forensics.MountEntity(id)
	if id == 0 {
		name, subject = "superblock "+device, forensics.Entity{Kind: forensics.KindSuperblock, ID: device}
	}
	f := forensics.Finding{
		Severity: forensics.Info, Subject: subject, Confidence: forensics.Likely,
		ConfidenceWhy: "its mount id was read twice and is in no mount table that could be read",
	}
	for _, h := range list {
		if process, _ := p.Model.Process(h.PID); h.Path != "/" && !mountuse.InOtherUserNS(p, process) {
			f.Severity = forensics.Warning
		}
		if len(f.Refs) < 8 {
			f.Refs = append(f.Refs, mountuse.Ref(h))
		}
	}
	pids := mountuse.PIDs(list)
	for _, pid := range pids {
		f.Because = append(f.Because, findings.ProcessEntity(pid))
		if process, ok := p.Model.Process(pid); ok && process.PodUID != "" {
			f.Pods = append(f.Pods, process.PodUID)
		}
		f.Remedies = append(f.Remedies, remedy.StopHolder(p, pid))
	}
	f.Title = fmt.Sprintf("%s is in no mount table and still held by %s", name, findings.ProcessName(p, pids[0]))
	if more := len(pids) - 1; more > 0 {
		f.Title += fmt.Sprintf(" and %s", text.Plural(more, "other process"))
	}
	f.Detail = "It was most likely unmounted lazily. The unmount is not done until these let go: " + findings.ProcessName(p, pids[0]) + " " + mountuse.How(list[0]) +
		". Paths on it begin at the root of the mount."
	names := forensics.Once(p, "namespaces that could not be read", func() []string {
		var names []string
		for _, n := range p.Model.Uses().EmptyNamespaces() {
			if n.Unread {
				names = append(names, describeNamespace(p, n))
			}
		}
		return names
	})
	if len(names) > 0 {
		f.Confidence = forensics.Possible
		f.ConfidenceWhy += ", but there are namespaces without processes, whose tables cannot be read"
		f.Detail += " Or it is mounted in a namespace that no process is in: " + findings.Some(names) + "."
	}
	return f
}

// describeNamespace says what keeps a mount namespace alive that no process is in.
func describeNamespace(p *forensics.Pass, n forensics.NamespaceProcesses) string {
	text := "mount namespace " + strconv.FormatUint(n.Namespace, 10)
	if len(n.OpenedBy) > 0 {
		text += ", which " + findings.ProcessName(p, n.OpenedBy[0]) + " has open"
	}
	if len(n.MountedAt) > 0 {
		text += ", which is mounted at " + n.MountedAt[0]
	}
	return text
}
