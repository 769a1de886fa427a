package checks

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/sorting"
)

// UnmountBusy finds what keeps mounts from being unmounted that somebody unmounts or would.
var UnmountBusy = forensics.Check{
	ID:    "unmount-busy",
	Title: "A mount that should go is in use",
	Doc: `A mount that is in use although somebody unmounts it, or would: one below the directory of a pod that is gone or
terminating ("target is busy" in the kubelet's log, again every two minutes); one that a running umount(8) or
fusermount(1) names; a volume that a CSI driver or the kubelet has staged for pods of which none is left. For those it is
a warning. For a file system that does not answer, is stale or has lost its server it is information: to be rid of it, it
has to be unmounted.

It names what makes umount(2) answer EBUSY: processes with a working or root directory, program, open or mapped file on
that very mount, and mounts below it, loop devices, swap, NFS exports and bound sockets, in the order in which to stop
them. An earlier examination that never came back from the mount is among them. Holds were confirmed by mount id where
the kernel tells it (Linux 3.15); working and root directories are told by their path. Containers of a terminating pod
itself are not counted, unless the kubelet's log shows the refusal: it unmounts only when they have ended. A process in another mount namespace holds its own copy of a mount and does not keep the host's
busy: see mount-leaked-namespace. System calls under way hold a mount, too, and are named beside the others. So is what is
not in the way, but keeps the file system and its server or disk in use: layers of overlays, other mounts of it.

The kubelet's log shows the refused unmounts themselves, since when, how often, and how long it waits until the next try
(500 ms, doubled each time up to 2 min 2 s). "Busy" is told from umount's words in any language. Only what was still
refused when the log ended counts. With the log alone nobody is named who holds it.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceHolders, forensics.SourceLogs}, {forensics.SourceMounts, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		var missing []string
		for _, source := range []string{forensics.SourceHolders, forensics.SourceMounts} {
			if ok, why := p.Evidence.Saw(source); !ok {
				missing = append(missing, source+" "+why)
			}
		}
		if len(missing) > 0 {
			p.Unjudged("who holds a mount was not judged: %s", strings.Join(missing, ", "))
		}
		done, refused := map[int]bool{}, refusals(p)
		for _, g := range append(refusedMounts(p, refused), goingMounts(p)...) {
			if !done[g.mount.ID] {
				done[g.mount.ID] = true
				reportBusy(p, g, refused)
			}
		}
		for _, r := range refused {
			if !r.told {
				p.Report(r.finding(p))
			}
		}
	},
}

// A going mount is one that somebody unmounts, or would.
type going struct {
	mount    mounts.Mount
	severity forensics.Severity
	pod      string // its processes do not count
	by       int    // the process that unmounts it
	why      string
}

// goingMounts lists them, those that are certain first, and inner ones before those that they lie on.
func goingMounts(p *forensics.Pass) []going {
	list := goingWithPods(p)
	list = append(list, beingUnmounted(p)...)
	list = append(list, stagedForNobody(p)...)
	for _, status := range []mounts.Status{mounts.StatusHung, mounts.StatusDisconnected, mounts.StatusStale, mounts.StatusIOError} {
		for _, s := range superblocks(p, status) {
			for _, m := range slices.Backward(s.mounts) {
				if _, here := p.Model.Host().ByID(m.ID); here && m.MountPoint != "/" {
					list = append(list, going{mount: m, severity: forensics.Info, why: fmt.Sprintf("its file system is %s", status)})
				}
			}
		}
	}
	return list
}

// refusedMounts lists the mounts that the kubelet could not unmount by its log. It tries that only when the pod's containers
// have ended, whatever else says that the pod lives: a process of the pod that is left is in the way like any other.
func refusedMounts(p *forensics.Pass, refused []*refusal) []going {
	var list []going
	for _, m := range slices.Backward(p.Evidence.Mounts.Mounts) {
		if slices.ContainsFunc(refused, func(r *refusal) bool { return r.subject == forensics.MountEntity(m.ID) }) {
			list = append(list, going{mount: m, severity: forensics.Warning, why: "the kubelet's log shows that its unmount was refused as busy"})
		}
	}
	return list
}

// goingWithPods lists the mounts of pods that are gone or going.
func goingWithPods(p *forensics.Pass) []going {
	var list []going
	for _, d := range p.Evidence.PodDirs {
		state, why := p.Model.PodState(d.UID)
		if state == forensics.PodUnknown {
			p.Unjudged("pod %s: %s", d.UID, why)
		}
		if state != forensics.PodOrphaned && state != forensics.PodTerminating {
			continue
		}
		for _, m := range slices.Backward(podMounts(p, d.UID)) {
			list = append(list, going{
				mount: m, severity: forensics.Warning, pod: d.UID, why: fmt.Sprintf("its pod is %s: %s", state, why),
			})
		}
	}
	return list
}

// beingUnmounted lists the mounts that running programs are told to unmount.
func beingUnmounted(p *forensics.Pass) []going {
	var list []going
	for _, process := range p.Evidence.Processes {
		switch process.Comm {
		case "umount", "fusermount", "fusermount3", "umount.nfs", "umount.nfs4", "umount.ceph", "umount.cifs":
		default:
			continue
		}
		if process.MountNS != 0 && p.Evidence.Mounts.Namespace != 0 && process.MountNS != p.Evidence.Mounts.Namespace || isLazy(process) {
			continue
		}
		for _, word := range process.Command[min(1, len(process.Command)):] {
			if at := p.Model.Host().At(word); strings.HasPrefix(word, "/") && len(at) > 0 {
				list = append(list, going{
					mount: at[len(at)-1], severity: forensics.Warning, by: process.PID,
					why: fmt.Sprintf("process %d (%s) is unmounting it", process.PID, process.Comm),
				})
			}
		}
	}
	return list
}

// isLazy says whether umount(8) or fusermount(1) was told to detach (umount2(2), MNT_DETACH), which is never refused as busy.
func isLazy(process procs.Process) bool {
	flag := "l"
	if strings.HasPrefix(process.Comm, "fusermount") {
		flag = "z"
	}
	return slices.ContainsFunc(process.Command, func(word string) bool {
		options, short := strings.CutPrefix(word, "-")
		if end := strings.IndexAny(options, "tON"); end >= 0 {
			options = options[:end] // what follows is their value
		}
		return word == "--lazy" || short && !strings.HasPrefix(options, "-") && strings.Contains(options, flag)
	})
}

// stagedPath is where the kubelet mounts a volume once for all its pods: CSI volumes since 1.9, in-tree ones before.
var stagedPath = regexp.MustCompile(`/plugins/kubernetes\.io/(csi/.*/globalmount|[^/]+/mounts/.+)$`)

// stagedForNobody lists the staged volumes that no pod has mounted any more.
func stagedForNobody(p *forensics.Pass) []going {
	var list []going
	for _, m := range p.Evidence.Mounts.Mounts {
		if p.Model.BelowKubelet(m.MountPoint) && stagedPath.MatchString(m.MountPoint) && len(p.Model.PodsOf(m.Device)) == 0 && !servesPods(p, m) {
			list = append(list, going{mount: m, severity: forensics.Warning, why: "it is staged, and no pod has the volume mounted"})
		}
	}
	return list
}

// servesPods says whether pods have the volume of a staged mount by way of another file system: one that a process serves
// from it, as where it is encrypted (gocryptfs), or one in an image file on it.
func servesPods(p *forensics.Pass, staged mounts.Mount) bool {
	holders, kernel := p.Model.HeldBy(staged.ID)
	return slices.ContainsFunc(held(p).Servers, func(s forensics.FUSEServer) bool {
		return s.PID != 0 && len(p.Model.PodsOf(s.Device)) > 0 &&
			slices.ContainsFunc(holders, func(h procs.Holder) bool { return h.PID == s.PID })
	}) || slices.ContainsFunc(kernel, func(k mounts.KernelUser) bool {
		return k.Use == mounts.UseLoop && slices.ContainsFunc(p.Evidence.Mounts.Mounts, func(m mounts.Mount) bool {
			uid, _ := p.Model.PodOf(m.MountPoint)
			return uid != "" && m.Source == k.What
		})
	})
}

func reportBusy(p *forensics.Pass, g going, refused []*refusal) {
	m := g.mount
	holders, kernel := p.Model.HeldBy(m.ID)
	holders = slices.DeleteFunc(slices.Clone(holders), func(h procs.Holder) bool {
		process, _ := p.Model.Process(h.PID)
		return h.PID == g.by || g.pod != "" && process.PodUID == g.pod
	})
	users := kernel
	kernel = slices.DeleteFunc(slices.Clone(kernel), func(k mounts.KernelUser) bool { return !k.Blocks })
	if len(holders)+len(kernel) == 0 {
		return
	}
	f := forensics.Finding{
		Severity: g.severity, Subject: forensics.MountEntity(m.ID), ConfidenceWhy: "the holds were read from /proc; " + g.why,
	}
	if uid, _ := p.Model.PodOf(m.MountPoint); uid != "" {
		f.Pods = []string{uid}
	}
	if !slices.ContainsFunc(holders, func(h procs.Holder) bool { return !h.ByPath }) && len(kernel) == 0 {
		f.Confidence = forensics.Likely
	}
	by := append(busyProcesses(p, &f, m, holders), busyKernel(&f, kernel)...)
	f.Title = fmt.Sprintf("mount %d at %s cannot be unmounted: %s", m.ID, m.MountPoint, some(by))
	f.Detail = fmt.Sprintf("Somebody wants it gone: %s. umount answers EBUSY (\"target is busy\") until nothing of this is left: %s.%s%s "+
		"Restarting the kubelet does not help. %s.", g.why, strings.Join(by, "; "), callsUnderWay(p, m), notInTheWay(users),
		strings.ToUpper(mounts.KernelBlind[:1])+mounts.KernelBlind[1:])
	f.Remedies = append(f.Remedies, unmountAtLast(p, m))
	for _, r := range refused {
		if r.subject == f.Subject {
			r.told = true
			f.Severity = forensics.Warning // somebody has tried, and was refused
			f = r.join(f)
		}
	}
	p.Report(f)
}

// busyProcesses says which processes hold a mount, and adds how to stop them, in the order in which to do it.
func busyProcesses(p *forensics.Pass, f *forensics.Finding, m mounts.Mount, holders []procs.Holder) []string {
	var by []string
	pids := holdingPIDs(holders)
	sorting.Stable(pids, func(a, b int) int { return cmp.Compare(stopRank(p, a), stopRank(p, b)) })
	for _, pid := range pids {
		first := holders[slices.IndexFunc(holders, func(h procs.Holder) bool { return h.PID == pid })]
		text, remedy := who(p, pid)+" "+byWhat(first), stopHolder(p, pid)
		if w, waits := waitsLong(p, pid, m.Device); waits {
			text += fmt.Sprintf(" (its thread %d waits in the kernel for this file system)", w.thread.TID)
			remedy = despiteWait(remedy, w)
		}
		by = append(by, text)
		f.Because = append(f.Because, processEntity(pid))
		f.Refs = append(f.Refs, holderRef(first))
		f.Remedies = append(f.Remedies, remedy)
	}
	return by
}

// despiteWait is how to stop a process although its thread waits: SIGKILL ends some waits, and others have to end first.
func despiteWait(r forensics.Remedy, w waiter) forensics.Remedy {
	if pid, plain := strings.CutPrefix(r.Command, "kill "); plain && w.thread.Wait.Kill == "yes" {
		r.Command, r.Risk = "kill -9 "+pid, "what it has not written is lost; SIGKILL alone ends its wait in the kernel"
		return r
	}
	r.Precondition = strings.TrimPrefix(r.Precondition+"; the wait of its thread "+strconv.Itoa(w.thread.TID)+
		" has been ended first: a kill takes effect only then", "; ")
	return r
}

// waitsLong finds a thread of a process that waits for a file system.
func waitsLong(p *forensics.Pass, pid int, device string) (waiter, bool) {
	list := waiters(p, device)
	at := slices.IndexFunc(list, func(w waiter) bool { return w.thread.PID == pid && w.seconds >= hungAfter(p) })
	if at < 0 {
		return waiter{}, false
	}
	return list[at], true
}

// stopRank orders holders by what stopping them costs: what is left of an earlier examination, processes that belong to
// nothing, pods, daemons, and what cannot be stopped.
func stopRank(p *forensics.Pass, pid int) int {
	process, ok := p.Model.Process(pid)
	switch {
	case isExamination(process):
		return 0
	case !ok:
		return 2
	case process.Kernel || pid == 1:
		return 5
	case isDaemon(process):
		return 4
	case process.PodUID != "":
		return 3
	}
	return 1
}

// busyKernel says what in the kernel holds a mount, and adds how to free it: inner mounts before outer ones.
func busyKernel(f *forensics.Finding, kernel []mounts.KernelUser) []string {
	var by []string
	sorting.Stable(kernel, func(a, b mounts.KernelUser) int {
		if (a.Use == mounts.UseMount) != (b.Use == mounts.UseMount) {
			return map[bool]int{true: -1, false: 1}[a.Use == mounts.UseMount]
		}
		return cmp.Compare(strings.Count(b.What, "/"), strings.Count(a.What, "/"))
	})
	for _, k := range kernel {
		by = append(by, kernelText(k))
		f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourceHolders, Excerpt: strings.TrimSpace(string(k.Use) + " " + k.What + " " + k.Detail)})
		f.Remedies = append(f.Remedies, freeKernel(k))
		if k.UserMount != 0 {
			f.Because = append(f.Because, forensics.MountEntity(k.UserMount))
		}
	}
	return by
}

// callsUnderWay names the threads that are in the middle of a call on a mount. The kernel counts those, too.
func callsUnderWay(p *forensics.Pass, m mounts.Mount) string {
	var calls []string
	for _, w := range waiters(p, m.Device) {
		if w.thread.MountID == m.ID {
			calls = append(calls, fmt.Sprintf("%s (%s)", forensics.ThreadEntity(w.thread).ID, w.thread.Comm))
		}
	}
	if len(calls) == 0 {
		return ""
	}
	return " System calls under way hold it, too, until they return: those of " + forensics.Plural(len(calls), "thread") + ", " + some(calls) + "."
}

// notInTheWay names what keeps the file system in use, its disk or its server, when the mount is gone.
func notInTheWay(users []mounts.KernelUser) string {
	var names []string
	for _, k := range users {
		var text string
		switch k.Use {
		case mounts.UseOverlay:
			text = fmt.Sprintf("the overlay at %s has a layer on it (%s)", k.What, k.Detail)
		case mounts.UseBind:
			text = "it is mounted at " + k.What + ", too"
		case mounts.UseDevice:
			text = k.What + " is on the same disk"
		}
		if text != "" && !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " Not in the way, but with it the file system itself stays in use: " + some(names) + "."
}

// unmountAtLast is the last step.
func unmountAtLast(p *forensics.Pass, m mounts.Mount) forensics.Remedy {
	h, _ := p.Model.Health(m.Device)
	switch {
	case h.Status == mounts.StatusHung && m.Class == mounts.ClassFUSE:
		r := abortFUSE(m)
		r.Why += "; then umount -c " + quote(m.MountPoint) + " goes through"
		return r
	case h.Status == mounts.StatusHung && isSMB(m):
		return lazyUnmount(m)
	case h.Status == mounts.StatusHung && m.Class == mounts.ClassNetwork:
		return forceUnmount(m)
	}
	return forensics.Remedy{
		Command:      "umount -c " + quote(m.MountPoint),
		Why:          "the kubelet does it itself at its next try, within about two minutes; this is for a mount that it has forgotten",
		Precondition: "nothing holds it any more: nodeforensics holders " + quote(m.MountPoint),
		Risk:         "none while nothing holds it: a plain unmount fails rather than lose data. A lazy one (-l) hides a mount that is still written to; never use it before the volume is attached to another node",
		Stage:        forensics.StageUnmount,
	}
}

func kernelText(k mounts.KernelUser) string {
	switch k.Use {
	case mounts.UseMount:
		return fmt.Sprintf("mount %d at %s lies on it", k.UserMount, k.What)
	case mounts.UseLoop:
		return fmt.Sprintf("loop device %s uses %s", k.What, k.Detail)
	case mounts.UseSwap:
		return "swap is on in " + k.What
	case mounts.UseExport:
		return fmt.Sprintf("nfsd exports %s", k.What)
	case mounts.UseSocket:
		return fmt.Sprintf("a socket is bound to %s, which no process that can be seen has open", k.What)
	}
	return fmt.Sprintf("%s %s", k.Use, k.What)
}

func freeKernel(k mounts.KernelUser) forensics.Remedy {
	r := forensics.Remedy{Why: kernelText(k), Precondition: "nobody needs it any more"}
	switch k.Use {
	case mounts.UseMount:
		r.Stage = forensics.StageUnmount
		r.Command, r.Risk = "umount -c "+quote(k.What), "fails while that mount is in use itself, which is the safe answer"
	case mounts.UseLoop:
		r.Command, r.Risk = "losetup -d "+quote(k.What), "whoever has mounted or opened the loop device loses its disk: unmount that first"
	case mounts.UseSwap:
		r.Command, r.Risk = "swapoff "+quote(k.What), "what is swapped out has to fit into memory"
	case mounts.UseExport:
		r.Command, r.Risk = "exportfs -u '*':"+quote(k.What), "NFS clients lose that directory" //nolint:misspell // exportfs(8)
	default:
		r.Command, r.Risk = "Stop the process that has bound "+k.What+" (ss -xlp)", "its clients cannot connect any more"
	}
	return r
}
