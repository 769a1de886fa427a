package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// MountLeakedNamespace finds mounts that the host has no more and another mount namespace keeps.
var MountLeakedNamespace = forensics.Check{
	ID:    "mount-leaked-namespace",
	Title: "Another mount namespace keeps a mount that the host has unmounted",
	Doc: `A mount below a pod directory that is in no mount of the host any more (same superblock and root; a private copy has
no peer group left by which it could be told), but in the mount namespace of some container or service, which copied the
host's mounts when it was started: one with a bind mount of / or /var/lib/kubelet without HostToContainer propagation, or
a systemd unit with PrivateMounts or PrivateTmp. Or in one that no process is in any more, and a descriptor or a bind mount
of its ns/mnt file keeps: the tables of those can be read since Linux 6.12, and are not known before. The disk cannot be detached and the server is still in use. Unmounting on
the host does not reach a private copy. Kernels before 3.18, and Red Hat's 3.10 without fs.may_detach_mounts=1, answer
EBUSY when the directory is removed. A network, FUSE or disk file system elsewhere that the host never had may be the
container's own, and is only information; a FUSE mount whose server is in that namespace is. Namespaces of nodes within this node (kind, docker in docker: a kubelet of their
own in a mount namespace of their own) and what runs in them are left out: what they hold is not this host's.`,
	Severity: forensics.Warning,
	Needs:    needsHolders,
	Run: func(p *forensics.Pass) {
		type key struct {
			device string
			ns     uint64
		}
		groups, order := map[key][]mounts.Mount{}, []key{}
		for _, l := range held(p).Leaked {
			if ownMount(p, l) {
				continue
			}
			k := key{l.Mount.Device, l.Namespace}
			if groups[k] == nil {
				order = append(order, k)
			}
			groups[k] = append(groups[k], l.Mount)
		}
		for _, k := range order {
			p.Report(leakedMountFinding(p, k.ns, groups[k]))
		}
	},
}

// ownMount says whether a FUSE mount belongs to the mount namespace that has it: its server is in there, too, as where
// containers run without root on fuse-overlayfs. One below the kubelet's directory was made for the host all the same.
func ownMount(p *forensics.Pass, l forensics.LeakedMount) bool {
	if uid, _ := p.Model.PodOf(l.Mount.MountPoint); uid != "" || p.Model.BelowKubelet(l.Mount.MountPoint) {
		return false
	}
	return slices.ContainsFunc(p.Model.Servers(l.Mount.Device), func(s forensics.FUSEServer) bool {
		process, ok := p.Model.Process(s.PID)
		return ok && process.MountNS == l.Namespace
	})
}

func leakedMountFinding(p *forensics.Pass, ns uint64, list []mounts.Mount) forensics.Finding {
	m := list[0]
	uid := ""
	for _, other := range list {
		if id, _ := p.Model.PodOf(other.MountPoint); id != "" {
			m, uid = other, id
			break
		}
	}
	n := p.Model.Namespace(ns)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.MountEntity(m.ID), Confidence: forensics.Likely,
		ConfidenceWhy: "compared by superblock and root directory; the mount point names a pod",
		Refs: []forensics.Ref{{
			Source:  fmt.Sprintf("%s:namespace %d", forensics.SourceHolders, ns),
			Excerpt: fmt.Sprintf("%d %s %s %s - %s %s", m.ID, m.Device, m.Root, m.MountPoint, m.FSType, m.Source),
		}},
	}
	keeper := "of processes that came or went while they were looked at"
	switch {
	case n.Processes > 0:
		keeper = fmt.Sprintf("of %s (%s)", who(p, n.PIDs[0]), forensics.Plural(n.Processes, "process"))
		f.Because = append(f.Because, processEntity(n.PIDs[0]))
	case len(n.HeldBy) > 0:
		keeper = "which " + who(p, n.HeldBy[0]) + " holds open"
		f.Because = append(f.Because, processEntity(n.HeldBy[0]))
	case len(n.MountedAt) > 0:
		keeper = "which is kept by its ns/mnt file, mounted at " + n.MountedAt[0]
	case isUninhabited(p, ns):
		keeper = fmt.Sprintf("%d, which no process is in; what keeps it is not visible", ns)
	default:
		f.Severity, f.Confidence = forensics.Info, forensics.Possible
		f.ConfidenceWhy += "; whether the namespace is still there is not known"
	}
	f.Title = fmt.Sprintf("%s file system %s is gone from the host and still mounted in the mount namespace %s", m.FSType, m.Source, keeper)
	f.Detail = fmt.Sprintf("There it is mount %d at %s (%s, superblock %s)", m.ID, m.MountPoint, m.Propagation(), m.Device)
	if more := len(list) - 1; more > 0 {
		f.Detail += fmt.Sprintf(", and mounted %s more", times(int64(more)))
	}
	f.Detail += "."
	if holders, _ := p.Model.HeldBy(m.ID); len(holders) > 0 {
		f.Detail += " It is in use there: " + who(p, holders[0].PID) + " " + byWhat(holders[0]) + "."
		f.Refs = append(f.Refs, holderRef(holders[0]))
	}
	f.Remedies = leakRemedies(p, n, m, list)
	if uid != "" {
		f.Pods = []string{uid}
		f.Detail += " " + propagationText(m)
		return f
	}
	f.Severity, f.Confidence = forensics.Info, forensics.Possible
	f.ConfidenceWhy = "the host has no mount of this superblock; the container may have mounted it for itself"
	f.Title = fmt.Sprintf("%s file system %s is not mounted on the host, but in the mount namespace %s", m.FSType, m.Source, keeper)
	for i := range f.Remedies {
		r := &f.Remedies[i]
		r.Precondition = strings.TrimSuffix("the host had it once, and the container has not mounted it for itself; "+r.Precondition, "; ")
	}
	return f
}

// propagationText says why the mount is still there. What propagates an unmount is the mount that it lies on, which need not
// be marked as it is.
func propagationText(m mounts.Mount) string {
	text := "Unmounting on the host has not reached it, and nothing is left there to unmount that would: it goes with its namespace, or is unmounted in it."
	if m.Master != 0 {
		text += fmt.Sprintf(" It is a slave of peer group %d, so a mount of that group lives on somewhere (shared:%[1]d in /proc/PID/mountinfo).", m.Master)
	}
	return text
}

// leakRemedies are the steps for the copies of one file system in a namespace: to unmount them there, inner ones first,
// stops nobody; only where that does not go, the namespace has to end.
func leakRemedies(p *forensics.Pass, n forensics.NamespaceProcesses, m mounts.Mount, list []mounts.Mount) []forensics.Remedy {
	if n.Processes == 0 {
		return emptyNamespaceRemedies(p, n, m)
	}
	const most = 8
	var steps []forensics.Remedy
	for _, m := range slices.Backward(list[:min(len(list), most)]) {
		steps = append(steps, forensics.Remedy{
			Command:      fmt.Sprintf("nsenter -m -t %d umount -c %s", n.PIDs[0], quote(m.MountPoint)),
			Why:          "unmounts the copy without stopping anybody",
			Precondition: "nothing in that namespace uses it; the program umount exists there",
			Risk:         "a shared mount there unmounts its peers, too; to keep it from coming back, mount the host's directories with HostToContainer propagation (rslave)",
			Stage:        forensics.StageUnmount,
		})
	}
	return append(steps, endNamespace(p, n))
}

// endNamespace stops all processes of a mount namespace.
func endNamespace(p *forensics.Pass, n forensics.NamespaceProcesses) forensics.Remedy {
	r := stopHolder(p, n.PIDs[0])
	r.Stage = forensics.StageHide // another finding may have another mount of that namespace
	if pid, plain := strings.CutPrefix(r.Command, "kill "); plain && n.Processes > 1 {
		for _, other := range n.PIDs[1:] {
			pid += fmt.Sprintf(" %d", other)
		}
		r.Command = "kill " + pid
		r.Precondition = "they are still those processes (ps -o pid,lstart,args -p " + strings.ReplaceAll(pid, " ", ",") + "), and their owner agrees"
		if more := n.Processes - len(n.PIDs); more > 0 {
			r.Precondition += fmt.Sprintf("; %d more processes of the namespace are not named here", more)
		}
	}
	r.Why = "where the copy cannot be unmounted: with the last of its processes the namespace ends, and all its copies of mounts"
	if !strings.HasPrefix(r.Command, "kill ") {
		r.Precondition = strings.TrimPrefix(r.Precondition+"; its owner agrees to a restart", "; ")
	}
	return r
}

// emptyNamespaceRemedies are the steps for a namespace that no process is in.
func emptyNamespaceRemedies(p *forensics.Pass, n forensics.NamespaceProcesses, m mounts.Mount) []forensics.Remedy {
	hold, open := forensics.Once(p, "descriptors of namespaces", func() map[uint64]procs.NamespaceHold {
		first := map[uint64]procs.NamespaceHold{}
		for _, hold := range slices.Backward(held(p).Namespaces) {
			first[hold.Namespace] = hold
		}
		return first
	})[n.Namespace]
	switch {
	case open:
		stop := stopHolder(p, hold.PID)
		stop.Why = fmt.Sprintf("%s has the namespace open as descriptor %d: with the last such descriptor it ends, and all its mounts", who(p, hold.PID), hold.FD)
		return []forensics.Remedy{unmountInside(fmt.Sprintf("/proc/%d/task/%d/fd/%d", hold.PID, cmp.Or(hold.TID, hold.PID), hold.FD), m), stop}
	case len(n.MountedAt) > 0:
		enter, root := reachPin(p, n.Namespace)
		pin := pinOf(p, n.Namespace).MountPoint
		return []forensics.Remedy{unmountInside(root+pin, m), {
			Command:      enter + "umount -c " + quote(pin),
			Why:          "when nothing else keeps the namespace, it ends with this, and all its mounts",
			Precondition: "who made it (unshare --mount=FILE, snapd) does not need it any more",
			Risk:         "nobody can enter the namespace by that file any more",
		}}
	case isUninhabited(p, n.Namespace):
		return []forensics.Remedy{{
			Command: "grep -s 'scm_fds:.*[1-9]' /proc/[0-9]*/fdinfo/*",
			Why: "no process is in the namespace, has it open or has it mounted: its descriptor is most likely in the queue of a unix socket. " +
				"This names the processes that have not received descriptors yet; when they read or end, it is free",
			Precondition: "Linux 5.8",
			Risk:         "none",
		}}
	}
	return nil
}

// pinOf is where the ns/mnt file of a namespace is mounted: on the host, if it is there.
func pinOf(p *forensics.Pass, ns uint64) forensics.PinnedNamespace {
	return forensics.Once(p, "pinned namespaces", func() map[uint64]forensics.PinnedNamespace {
		pins := map[uint64]forensics.PinnedNamespace{}
		for _, at := range held(p).Pinned {
			if pins[at.Namespace].MountPoint == "" || !p.Model.IsElsewhere(at.MountNS) {
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
		for _, ns := range held(p).Uninhabited {
			found[ns] = true
		}
		return found
	})[ns]
}

// reachPin is how to reach where a namespace is mounted, if that is not on the host: the command that goes there, and the path
// of its root as seen from the host.
func reachPin(p *forensics.Pass, ns uint64) (enter, root string) {
	pin := pinOf(p, ns)
	if !p.Model.IsElsewhere(pin.MountNS) {
		return "", ""
	}
	pid := "PID" // of a process there, of which none was seen
	if there := p.Model.Namespace(pin.MountNS); len(there.PIDs) > 0 {
		pid = strconv.Itoa(there.PIDs[0])
	}
	return "nsenter -m -t " + pid + " ", "/proc/" + pid + "/root"
}

// unmountInside unmounts something in the namespace that a file stands for.
func unmountInside(namespace string, m mounts.Mount) forensics.Remedy {
	return forensics.Remedy{
		Command:      "nsenter --mount=" + quote(namespace) + " umount -c " + quote(m.MountPoint),
		Why:          "unmounts the copy; the namespace and what keeps it stay",
		Precondition: "nothing uses the mount; the program umount exists in that namespace",
		Risk:         "a shared mount there unmounts its peers, too",
	}
}
