package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/mountuse"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// mountLeakedNamespace finds mounts that the host has unmounted and another mount namespace still has.
var mountLeakedNamespace = forensics.Check{
	ID:    "mount-leaked-namespace",
	Title: "Another mount namespace still has a mount that the host has unmounted",
	Doc: `A mount on a directory that the kubelet made for a volume is no longer mounted on the host, but still in another mount
namespace. Mounts are compared by superblock and root, because a private copy has no peer group left to compare. A container or
service copied the host's mounts when it started: one with a bind mount of / or /var/lib/kubelet without HostToContainer
propagation, or a systemd unit with PrivateMounts or PrivateTmp. Or no process is left in the namespace, and a descriptor or a
bind mount of its ns/mnt file keeps it alive. The tables of such namespaces can be read since Linux 6.12 and are unknown before.

The disk cannot be detached, and the server stays in use. Unmounting on the host does not reach a private copy. Kernels before
3.18, and Red Hat's 3.10 without fs.may_detach_mounts=1, answer EBUSY when the directory is removed.

A network, FUSE or disk file system that the host never had may be the container's own and is only information. So is everything in
a mount namespace that belongs to another user namespace (NS_GET_USERNS, Linux 4.9; before, judged by its processes). Root of that
user namespace can mount anything at any path, so the paths identify no pod. No step enters a namespace, because the programs in
there belong to its owner.

Left out are FUSE mounts with their server in the same namespace. Also left out are namespaces of nodes within this node (kind, docker
in docker: a kubelet of their own in a mount namespace of their own) and everything that runs in them: their mounts are not the
host's.

In a saved text, "grep -l NAME /proc/*/mountinfo", or a row of the table of one process, and "grep NAME /proc/mounts" show the same. It counts if the kubelet, the
runtime or a command finds this mount or its disk busy.`,
	Severity: forensics.Warning,
	Needs:    mountuse.Needs,
	Run: func(p *forensics.Pass) {
		type key struct {
			device string
			ns     uint64
		}
		groups, order := map[key][]forensics.ForeignMount{}, []key{}
		for _, l := range p.Model.Uses().Leaked() {
			if ownMount(p, l) {
				continue
			}
			k := key{l.Mount.Device, l.Namespace}
			if uid, _ := p.Model.Uses().LeakOf(l); uid == "" {
				k.device = "" // who can make one of these can make many
			}
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], l)
		}
		for _, k := range order {
			p.Report(leakedMountFinding(p, groups[k]))
		}
		for _, found := range mountuse.Of(p).Found {
			busy := found.Device != "" || slices.ContainsFunc(logview.Story(p).Events, func(e logs.Event) bool { return isBusy(e, found.Path) })
			if busy && !found.Detached {
				p.Report(foundMountFinding(p, found))
			}
		}
	},
}

// isBusy says whether a message is of something that is busy and named. The quote has more of a long error than the reason.
func isBusy(e logs.Event, name string) bool {
	return e.Code == "EBUSY" && strings.Contains(e.Reason, name) || slices.ContainsFunc(e.Quotes, func(q logs.Quote) bool {
		return strings.Contains(q.Text, " resource busy") && strings.Contains(q.Text, name)
	})
}

// leaksIn are the processes in whose namespaces a mount is that an error names and the host does not have.
func leaksIn(p *forensics.Pass, reason string) (list []forensics.Entity) {
	for _, found := range mountuse.Of(p).Found {
		if !found.Detached && strings.Contains(reason, found.Path) {
			list = append(list, findings.ProcessEntity(found.PID))
		}
	}
	return list
}

// foundMountFinding is about a mount that somebody has found in another namespace.
func foundMountFinding(p *forensics.Pass, found holders.Holder) forensics.Finding {
	return forensics.Finding{
		Severity: forensics.Warning, Subject: findings.ProcessEntity(found.PID), Confidence: forensics.Likely,
		ConfidenceWhy: "the text shows a table that has the mount, and that the host's has it not",
		Title:         headline.Fit("A mount that the host has no more is still in the mount namespace of " + findings.ProcessTitle(p, found.PID)),
		Detail:        "The mount is " + found.Path + ". The unmount on the host did not reach this copy, which ends with its namespace.",
		Refs:          []forensics.Ref{{Source: forensics.SourceHolders, Excerpt: fmt.Sprintf("/proc/%d/mountinfo: %s", found.PID, found.Path)}},
		Remedies:      []forensics.Remedy{endNamespace(p, forensics.NamespaceProcesses{PIDs: []int{found.PID}, Processes: 1})},
	}
}

// ownMount says whether a FUSE mount belongs to the mount namespace that has it: its server is in there, too, as where
// containers run without root on fuse-overlayfs. One below the kubelet's directory was made for the host all the same.
func ownMount(p *forensics.Pass, l forensics.ForeignMount) bool {
	if uid, _ := forensics.PodOf(l.Mount.MountPoint); uid != "" || p.Model.BelowKubelet(l.Mount.MountPoint) {
		return false
	}
	return slices.ContainsFunc(p.Model.Uses().Servers(l.Mount.Device), func(s forensics.FUSEServer) bool {
		process, ok := p.Model.Process(s.PID)
		return ok && process.MountNS == l.Namespace
	})
}

func leakedMountFinding(p *forensics.Pass, list []forensics.ForeignMount) forensics.Finding {
	l := list[0]
	m, n := l.Mount, p.Model.Uses().Namespace(l.Namespace)
	uid, unproven := p.Model.Uses().LeakOf(l)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.MountEntity(m.ID), Confidence: forensics.Likely,
		ConfidenceWhy: "compared by superblock and root directory; it is mounted on the host's directory " + l.On,
		Refs: []forensics.Ref{{
			Source:  fmt.Sprintf("%s:namespace %d", forensics.SourceHolders, l.Namespace),
			Excerpt: fmt.Sprintf("%d %s %s %s - %s %s", m.ID, m.Device, m.Root, m.MountPoint, m.FSType, m.Source),
		}},
	}
	alive, more, known := namespaceKept(p, &f, n)
	label := fsfamily.Label(m.FSType, m.Source)
	f.Title = fmt.Sprintf("%s is unmounted on the host but still mounted in %s", label, alive)
	f.Detail = fmt.Sprintf("There, it is mount %d at %s (propagation %s, superblock %s). %s", m.ID, m.MountPoint, m.Propagation(), m.Device, more)
	switch more := len(list) - 1; {
	case more == 0:
	case uid != "":
		f.Detail += fmt.Sprintf(" It is mounted there %s more.", findings.Times(int64(more)))
	default:
		f.Detail += fmt.Sprintf(" The namespace has %s that the host does not have.", text.Plural(more, "more mount"))
	}
	if holders, _ := p.Model.Uses().Holders(m.ID); len(holders) > 0 {
		f.Detail += " It is in use there: " + findings.Some(mountuse.ByProcessText(p, holders)) + "."
		f.Refs = append(f.Refs, mountuse.Ref(holders[0]))
	}
	f.Remedies = leakRemedies(p, n)
	switch {
	case uid != "":
		f.Pods = []string{uid}
		f.Detail += " " + propagationText(m)
		if !known {
			f.Severity, f.Confidence = forensics.Info, forensics.Possible
			f.ConfidenceWhy += "; whether the namespace still exists is not known"
		}
	default:
		notTheHosts(&f, label, alive, unproven)
	}
	for i := range f.Remedies { // another finding may have another mount of that namespace: ending it is a late step of a diagnosis
		if r := &f.Remedies[i]; r.Action != remedy.ActionLook && r.Action != remedy.ActionWait {
			r.Action = remedy.ActionEndNamespace
		}
	}
	return f
}

// namespaceKept says what keeps a mount namespace alive, for a title and for a detail, and adds that to the causes. If it is not
// known that the namespace still exists, known is false.
func namespaceKept(p *forensics.Pass, f *forensics.Finding, n forensics.NamespaceProcesses) (title, detail string, known bool) {
	switch {
	case n.Processes > 0:
		f.Because = append(f.Because, findings.ProcessEntity(n.PIDs[0]))
		return "the mount namespace of " + findings.ProcessTitle(p, n.PIDs[0]),
			fmt.Sprintf("The namespace has %s: %s.", text.Plural(n.Processes, "process"), processesOf(p, n)), true
	case len(n.OpenedBy) > 0:
		f.Because = append(f.Because, findings.ProcessEntity(n.OpenedBy[0]))
		return "a mount namespace that " + findings.ProcessTitle(p, n.OpenedBy[0]) + " has open",
			"No process is in the namespace. A descriptor of " + findings.ProcessName(p, n.OpenedBy[0]) + " keeps it alive.", true
	case len(n.MountedAt) > 0:
		return "a mount namespace that is mounted at " + n.MountedAt[0], "The mount of its ns/mnt file at " + n.MountedAt[0] + " keeps the namespace alive.", true
	case isUninhabited(p, n.Namespace):
		return "a mount namespace without processes", fmt.Sprintf("What keeps mount namespace %d alive is not visible.", n.Namespace), true
	}
	return "another mount namespace", "The processes of the namespace started or ended during the examination.", false
}

// processesOf names some processes of a namespace.
func processesOf(p *forensics.Pass, n forensics.NamespaceProcesses) string {
	var names []string
	for _, pid := range n.PIDs {
		names = append(names, findings.ProcessName(p, pid))
	}
	for range n.Processes - len(n.PIDs) {
		names = append(names, "")
	}
	return findings.Some(names)
}

// notTheHosts changes a finding about a mount that the host may never have had. It names no pod, because users of that namespace
// choose its mount point. Its only remedies are those that end the user of the namespace.
func notTheHosts(f *forensics.Finding, label, alive, unproven string) {
	f.Severity, f.Confidence = forensics.Info, forensics.Possible
	f.ConfidenceWhy = "the host has no mount of this superblock; the container may have mounted it for itself: " + unproven
	f.Title = fmt.Sprintf("%s is not mounted on the host, only in %s", label, alive)
	f.Remedies = sorting.Delete(f.Remedies, func(r forensics.Remedy) bool { return r.Action != remedy.ActionDeletePod })
	for i := range f.Remedies {
		r := &f.Remedies[i]
		r.OnlyIf = strings.TrimSuffix("the host once had this mount, and the container has not mounted it for itself; "+r.OnlyIf, "; ")
	}
}

// propagationText says why the mount still exists. An unmount propagates by the parent mount, whose propagation type may be another.
func propagationText(m mounts.Mount) string {
	text := "The unmount on the host did not propagate to it, and the host has no mount left to unmount. It ends with its namespace."
	if m.Master != 0 {
		text += fmt.Sprintf(" It is a slave of peer group %d, so a mount of that group still exists somewhere (shared:%[1]d in /proc/PID/mountinfo).", m.Master)
	}
	return text
}

// leakRemedies end a mount namespace, and all its mounts with it. Nothing is unmounted inside: entering the namespace for that would
// run programs, or load libraries, of its owner.
func leakRemedies(p *forensics.Pass, n forensics.NamespaceProcesses) []forensics.Remedy {
	if n.Processes > 0 {
		return []forensics.Remedy{endNamespace(p, n)}
	}
	hold, open := forensics.Once(p, "descriptors of namespaces", func() map[uint64]holders.NamespaceHold {
		first := map[uint64]holders.NamespaceHold{}
		for _, hold := range slices.Backward(mountuse.Of(p).Namespaces) {
			first[hold.Namespace] = hold
		}
		return first
	})[n.Namespace]
	switch {
	case open:
		stop := remedy.StopHolder(p, hold.PID)
		stop.Why = fmt.Sprintf("%s has the namespace open (descriptor %d). When the last such descriptor is closed, the namespace and all its mounts end",
			findings.ProcessName(p, hold.PID), hold.FD)
		return []forensics.Remedy{stop}
	case len(n.MountedAt) > 0:
		return []forensics.Remedy{unpin(p, n.Namespace)}
	case isUninhabited(p, n.Namespace):
		return []forensics.Remedy{{
			Action: remedy.ActionLook, Command: remedy.UnreceivedDescriptors(),
			Why: "no process is in the namespace, has it open or has it mounted. Its descriptor is most likely in the queue of a unix socket. " +
				"The command lists processes that have not yet received descriptors; when they read them or end, the namespace is released",
			OnlyIf: "Linux 5.8 or later",
			Risk:   "none",
		}}
	}
	return nil
}

// endNamespace ends all processes of a mount namespace: with their pod, with their service, or one by one.
func endNamespace(p *forensics.Pass, n forensics.NamespaceProcesses) forensics.Remedy {
	r := remedy.StopHolder(p, n.PIDs[0])
	for _, pid := range n.PIDs[1:] { // one that must not be killed decides
		if r.Action != remedy.ActionStop {
			break
		}
		if other := remedy.StopHolder(p, pid); other.Action != remedy.ActionStop {
			r = other
		}
	}
	if unit := unitOf(p, n.PIDs); unit != "" {
		r = remedy.Run(r, remedy.ActionRestart, "systemctl", "restart", unit)
		r.OnlyIf, r.Risk = "", "the service is interrupted, and state that it keeps only in memory is lost"
	}
	if r.Action == remedy.ActionStop && n.Processes > 1 {
		kill := []string{"kill"}
		for _, pid := range n.PIDs {
			kill = append(kill, strconv.Itoa(pid))
		}
		r = remedy.Run(r, r.Action, kill...)
		r.OnlyIf = remedy.SameProcess(p, n.PIDs...) + ", and their owner agrees"
		if more := n.Processes - len(n.PIDs); more > 0 {
			r.OnlyIf += fmt.Sprintf("; %d more processes of the namespace are not listed here", more)
		}
	}
	r.Why = "when its last process ends, the namespace and all its copies of mounts end. " +
		"To prevent new copies, mount the host's directories with HostToContainer propagation (rslave)"
	if r.Action != remedy.ActionStop {
		r.OnlyIf = strings.TrimPrefix(r.OnlyIf+"; its owner agrees to a restart", "; ")
	}
	return r
}

// unitOf is the service that all of some processes belong to, "" if there is none. A restart ends all of its processes, but for
// those that daemons leave running: containers and what looks after them (KillMode=process).
func unitOf(p *forensics.Pass, pids []int) string {
	unit := ""
	for _, pid := range pids {
		process, _ := p.Model.Process(pid)
		of := remedy.SystemUnit(process)
		if of == "" || unit != "" && of != unit || runsContainers(of) && !remedy.IsDaemon(process) {
			return ""
		}
		unit = of
	}
	return unit
}

// runsContainers says whether containers, or what looks after them, are among the processes of a service.
func runsContainers(unit string) bool {
	name, isService := strings.CutSuffix(unit, ".service")
	return isService && (cri.IsUnit(name) || runsKubelet.MatchString(name))
}

var runsKubelet = pattern.New(`^(kubelet|k3s.*|rke2.*|snap\.microk8s.*)$`)

// pinOf is where the ns/mnt file of a namespace is mounted: on the host, if it is there.
func pinOf(p *forensics.Pass, ns uint64) forensics.PinnedNamespace {
	return forensics.Once(p, "pinned namespaces", func() map[uint64]forensics.PinnedNamespace {
		pins := map[uint64]forensics.PinnedNamespace{}
		for _, at := range mountuse.Of(p).Pinned {
			if pins[at.Namespace].MountPoint == "" || !p.Model.Uses().IsElsewhere(at.MountNS) {
				pins[at.Namespace] = at
			}
		}
		return pins
	})[ns]
}

// isUninhabited says whether the table of a namespace without processes was read.
func isUninhabited(p *forensics.Pass, ns uint64) bool {
	return forensics.Once(p, "uninhabited namespaces", func() map[uint64]bool {
		found := map[uint64]bool{}
		for _, ns := range mountuse.Of(p).Uninhabited {
			found[ns] = true
		}
		return found
	})[ns]
}

// unpin removes the bind mount that keeps a namespace alive, if that is on the host. Otherwise the namespace with that mount must end.
func unpin(p *forensics.Pass, ns uint64) forensics.Remedy {
	pin := pinOf(p, ns)
	if there := p.Model.Uses().Namespace(pin.MountNS); p.Model.Uses().IsElsewhere(pin.MountNS) && there.Processes > 0 {
		return endNamespace(p, there)
	}
	r := forensics.Remedy{
		Why:    "if nothing else keeps the namespace alive, this ends it and all its mounts",
		OnlyIf: "its creator (unshare --mount=FILE, snapd) no longer needs it",
		Risk:   "the namespace can no longer be entered by that file",
	}
	m, _ := p.Model.Host().ByID(pin.MountID)
	return remedy.Unmount(p, cmp.Or(m, mounts.Mount{ID: pin.MountID, MountPoint: pin.MountPoint}), r, "-c")
}
