package checks

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/mountuse"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// mountDetached finds mounts that are in no mount table and still in use.
var mountDetached = forensics.Check{
	ID:    "mount-detached",
	Title: "A lazily unmounted file system is still in use",
	Doc: `A process has an open or mapped file on a mount (mnt_id in /proc/PID/fdinfo, the device in /proc/PID/maps) that is in no
mount table. It was unmounted lazily (umount -l) and exists until its last user closes it. Before Linux 6.12, it may instead be in
a namespace without processes that a descriptor or a bind mount keeps alive; the finding then lists such namespaces. df and findmnt
do not show the mount. Its disk or server stays in use, and threads that wait for it continue to wait.

A working or root directory on such a mount is not detected: only its path is known, and the path misleads. Left out are the
kernel's own mounts (memory, message queues), and open files of processes with a namespace that is visible only from a chroot.
Nothing is reported if this program does not see all processes of the machine, because the output of a container goes to files of an
outer namespace.

In a saved text, a lazy unmount, a mount table without the disk, a command that finds the disk busy, and its open files show the same.

Runtimes prepare mounts with a descriptor of the mount's root (open_tree(2)): such a descriptor alone is information. So is a mount that
only processes of another user namespace use, because they can mount and unmount for themselves. Needs Linux 3.15.`,
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
		saved := sorting.Delete(slices.Clone(mountuse.Of(p).Found), func(h holders.Holder) bool { return !h.Detached })
		if len(saved) > 0 {
			p.Report(savedDetachedFinding(p, saved))
		}
	},
}

// savedDetachedFinding is about a disk that a text shows as busy after a lazy unmount.
func savedDetachedFinding(p *forensics.Pass, list []holders.Holder) forensics.Finding {
	first := list[0]
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindSuperblock, ID: first.Device}, Confidence: forensics.Likely,
		ConfidenceWhy: "the text shows a lazy unmount, a mount table without the mount, and that its disk is busy",
		Title:         "Detached file system (in no mount table) is still in use",
		Detail:        "The disk " + first.Device + " stays busy until no process uses the file system any more.",
	}
	if first.PID != 0 {
		f.Title += " by " + findings.ProcessTitle(p, first.PID)
	}
	for _, h := range list {
		f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourceHolders, Excerpt: findings.ProcessTitle(p, h.PID) + ": " + h.Path})
		if h.PID != 0 {
			f.Because = append(f.Because, findings.ProcessEntity(h.PID))
			f.Remedies = append(f.Remedies, remedy.StopHolder(p, h.PID))
		}
		if len(f.Refs) == 8 {
			break
		}
	}
	return f
}

func detachedFinding(p *forensics.Pass, id int, device string, list []holders.Holder) forensics.Finding {
	name, subject := "Mount "+strconv.Itoa(id), forensics.MountEntity(id)
	if id == 0 {
		name, subject = "Superblock "+device, forensics.Entity{Kind: forensics.KindSuperblock, ID: device}
	}
	f := forensics.Finding{
		Severity: forensics.Info, Subject: subject, Confidence: forensics.Likely,
		ConfidenceWhy: "its mount id was read twice and is in no readable mount table",
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
	f.Title = "Detached file system (in no mount table) is still in use by " + findings.ProcessTitle(p, pids[0])
	if more := len(pids) - 1; more > 0 {
		f.Title += fmt.Sprintf(" and %s", text.Plural(more, "other process"))
	}
	users := mountuse.ByProcessText(p, list)
	f.Detail = fmt.Sprintf("%s was most likely unmounted lazily. The unmount completes when these no longer use it: %s.", name, findings.Some(users)) +
		" Paths on it begin at the root of the mount."
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
		f.ConfidenceWhy += ", but namespaces without processes exist and their tables cannot be read"
		f.Detail += " Or it is mounted in a namespace without processes: " + findings.Some(names) + "."
	}
	return f
}

// describeNamespace says what keeps a mount namespace without processes alive.
func describeNamespace(p *forensics.Pass, n forensics.NamespaceProcesses) string {
	text := "mount namespace " + strconv.FormatUint(n.Namespace, 10)
	if len(n.OpenedBy) > 0 {
		text += ", open in " + findings.ProcessName(p, n.OpenedBy[0])
	}
	if len(n.MountedAt) > 0 {
		text += ", mounted at " + n.MountedAt[0]
	}
	return text
}
