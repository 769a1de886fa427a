package checks

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/mountuse"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/unmounts"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// unmountBusy finds the users of mounts that are being unmounted or should be.
var unmountBusy = forensics.Check{
	ID:    "unmount-busy",
	Title: "A mount cannot be unmounted because it is in use",
	Doc: `A mount is in use although it is being unmounted or should be. It is a warning for:
- a mount below the directory of an orphaned or terminating pod ("target is busy" in the kubelet's log, again every two minutes)
- a mount that a running umount(8) or fusermount(1) names
- a volume that a CSI driver or the kubelet has staged, with no pod left that uses it

A file system that does not respond, is stale or has lost its server is information: only an unmount removes it.

The finding names everything that makes umount(2) fail with EBUSY, in the order in which to stop it. Processes count with a working
or root directory, a program, an open or mapped file on that very mount. In the kernel, these count: mounts below it, loop devices,
mounted images, swap, NFS exports, interpreters of binfmt_misc, uprobe events and bound sockets. An earlier examination that is still
blocked on the mount is among the processes. Open files are confirmed by mount id where the kernel shows it (Linux 3.15); working and
root directories are known only by their path.

Containers of the terminating pod itself do not count, unless the kubelet's log shows the refused unmount: the kubelet unmounts only
after they have ended. A process in another mount namespace keeps the host's mount busy if mount propagation ties its copy to it
(HostToContainer, Bidirectional; propagate_mount_busy in fs/pnode.c). The finding then names that copy. A private copy does not keep
it busy: see mount-leaked-namespace. System calls in flight also keep a mount busy and are listed separately. So are users
that do not block the unmount, but keep the file system and its server or disk in use: layers of overlays, other mounts of it.

The kubelet's log shows the refused unmounts: since when, how often, and the wait until the next try (500 ms, doubled each
time up to 2 min 2 s). "Busy" is recognized in umount's messages in any language. Only unmounts that were still refused at the end
of the log count. With the log alone, the users of the mount are not known.`,
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
			p.Unjudged("the users of mounts were not judged: %s", strings.Join(missing, ", "))
		}
		done, refused := map[int]bool{}, unmounts.Refusals(p)
		for _, g := range append(unmounts.RefusedMounts(p, refused), unmounts.Mounts(p)...) {
			if !done[g.Mount.ID] {
				done[g.Mount.ID] = true
				reportBusy(p, g, refused)
			}
		}
		for _, r := range refused {
			if !r.Reported {
				p.Report(refusalFinding(p, r))
			}
		}
	},
}

func reportBusy(p *forensics.Pass, g unmounts.Mount, refused []*unmounts.Refusal) {
	m := g.Mount
	list, kernel := p.Model.Uses().Holders(m.ID)
	list = sorting.Delete(slices.Clone(list), func(h holders.Holder) bool {
		process, _ := p.Model.Process(h.PID)
		return h.PID == g.By || g.Pod != "" && process.PodUID == g.Pod
	})
	users := kernel
	kernel = sorting.Delete(slices.Clone(kernel), func(k holders.KernelUser) bool { return !k.Blocks })
	if len(list)+len(kernel) == 0 {
		return
	}
	f := forensics.Finding{
		Severity: g.Severity, Subject: forensics.MountEntity(m.ID), Confidence: forensics.Certain, ConfidenceWhy: "the users of the mount were read from /proc; " + g.Why,
	}
	if uid, _ := forensics.PodOf(m.MountPoint); uid != "" {
		f.Pods = []string{uid}
	}
	if !slices.ContainsFunc(list, func(h holders.Holder) bool { return !h.ByPath }) &&
		!slices.ContainsFunc(kernel, func(k holders.KernelUser) bool { return k.Use == holders.UseMount }) { // others are known only by path
		f.Confidence = forensics.Likely
		f.ConfidenceWhy += "; all of them are known only by their path, which misleads where mounts are stacked"
	}
	by, waiting := busyProcesses(p, &f, m, list)
	by = append(by, busyKernel(p, &f, kernel)...)
	inUse := "in use by " + usersTitle(p, list, kernel)
	f.Title = fmt.Sprintf("%s cannot be unmounted: %s", busyMount(p, m), inUse)
	if _, volume := forensics.PodOf(m.MountPoint); volume != "" {
		f.Effect = "volume " + path.Base(volume) + " " + inUse
	}
	f.Detail = fmt.Sprintf("Mount %d at %s should be unmounted (%s). umount fails with EBUSY (\"target is busy\") until none of these is left: %s.%s%s%s %s.",
		m.ID, m.MountPoint, g.Why, strings.Join(by, "; "), callsInFlight(p, m), notBlocking(users), kubeletUses(p, list), unlisted(p))
	f.Remedies = append(f.Remedies, unmounts.AtLast(p, m, waiting)...)
	for _, r := range unmounts.BySubject(p, refused)[f.Subject] {
		r.Reported = true
		f.Severity = forensics.Warning // an unmount was tried and refused
		f = withRefusal(r, f)
	}
	p.Report(f)
}

// busyMount names a mount for a title.
func busyMount(p *forensics.Pass, m mounts.Mount) string {
	uid, volume := forensics.PodOf(m.MountPoint)
	switch label := fsfamily.Label(m.FSType, m.Source); {
	case volume != "":
		return "Volume " + path.Base(volume) + " of " + podInTitle(p, uid)
	case unmounts.StagedPath.MatchString(m.MountPoint):
		return "Staged volume at " + m.MountPoint
	case label != "":
		return label + " at " + m.MountPoint
	}
	return "Mount at " + m.MountPoint
}

// podInTitle names a pod within a title.
func podInTitle(p *forensics.Pass, uid string) string {
	return "pod" + strings.TrimPrefix(findings.PodTitle(p, uid), "Pod")
}

// usersTitle names the first user of a mount for a title, in the order in which to stop them, and counts the others.
func usersTitle(p *forensics.Pass, list []holders.Holder, kernel []holders.KernelUser) string {
	pids := inStopOrder(p, list)
	others := len(pids) + len(kernel) - 1
	name := ""
	if len(pids) > 0 {
		name = findings.ProcessTitle(p, pids[0])
	} else {
		name = unmounts.KernelTitle(kernel[0])
	}
	if others > 0 {
		name += fmt.Sprintf(" and %d more", others)
	}
	return name
}

// kubeletUses says whether the kubelet uses the mount, because people restart the kubelet first.
func kubeletUses(p *forensics.Pass, holders []holders.Holder) string {
	if k := p.Evidence.Kubelet; k != nil && slices.Contains(mountuse.PIDs(holders), k.PID) {
		return ""
	}
	return " Restarting the kubelet does not help."
}

// unlisted says what may use a mount besides the users that were found.
func unlisted(p *forensics.Pass) string {
	text := findings.Capital(holders.KernelBlind)
	if list := mountuse.Of(p).Unseen; len(list) > 0 {
		text += ". The open files of some processes are not known: " + findings.Some(list)
	}
	return text
}

// inStopOrder lists the processes in the order in which to stop them.
func inStopOrder(p *forensics.Pass, list []holders.Holder) []int {
	pids := mountuse.PIDs(list)
	sorting.Stable(pids, func(a, b int) int { return cmp.Compare(stopRank(p, a), stopRank(p, b)) })
	return pids
}

// busyProcesses says which processes use a mount, and adds how to stop them, in the order in which to do it. The steps for
// those that cannot end before their wait for the mount does are returned separately.
func busyProcesses(p *forensics.Pass, f *forensics.Finding, m mounts.Mount, list []holders.Holder) (by []string, waiting []forensics.Remedy) {
	pids := inStopOrder(p, list)
	first := map[int]holders.Holder{}
	for _, h := range slices.Backward(list) {
		first[h.PID] = h
	}
	on := copiesByID(p, m)
	for _, pid := range pids {
		holder := first[pid]
		text, step := findings.ProcessName(p, pid)+" "+mountuse.AllOf(list, pid), remedy.StopHolder(p, pid)
		if c, ok := on[holder.MountID]; ok {
			text += " on " + p.Model.Uses().DescribeCopy(c) + " (tied to this mount by mount propagation)"
		}
		w, waits := waitsLong(p, pid, m.Device)
		if waits {
			text += fmt.Sprintf(" (its thread %d is blocked in the kernel on this file system)", w.Thread.TID)
			step = despiteWait(step, w)
		}
		if waits && !w.Thread.Wait.Killable() {
			waiting = append(waiting, step)
		} else {
			f.Remedies = append(f.Remedies, step)
		}
		by = append(by, text)
		f.Because = append(f.Because, findings.ProcessEntity(pid))
		f.Refs = append(f.Refs, mountuse.Ref(holder))
	}
	return by, waiting
}

// copiesByID are the copies of a mount by which it is busy.
func copiesByID(p *forensics.Pass, m mounts.Mount) map[int]mounts.Copy {
	by := map[int]mounts.Copy{}
	for _, c := range slices.Backward(p.Model.Uses().Copies(m.ID)) {
		by[c.MountID] = c
	}
	return by
}

// despiteWait is how to stop a process with a waiting thread. SIGKILL, which the kubelet and systemd also send in the end, ends some
// waits. Other waits must end first.
func despiteWait(r forensics.Remedy, w stall.Waiter) forensics.Remedy {
	switch {
	case !w.Thread.Wait.Killable():
		r.OnlyIf = strings.TrimPrefix(r.OnlyIf+"; the wait of its thread "+strconv.Itoa(w.Thread.TID)+
			" has ended before: a kill takes effect only then", "; ")
	case r.Action == remedy.ActionStop:
		r.Risk = "its unwritten data is lost; only SIGKILL ends its wait in the kernel"
		return remedy.Run(r, r.Action, "kill", "-9", strconv.Itoa(w.Thread.PID))
	}
	return r
}

// waitsLong finds a thread of a process that waits for a file system.
func waitsLong(p *forensics.Pass, pid int, device string) (stall.Waiter, bool) {
	long := forensics.Once(p, "long waits "+device, func() map[int]stall.Waiter {
		by := map[int]stall.Waiter{}
		for _, w := range slices.Backward(stall.Waiters(p, device)) {
			if w.Seconds >= stall.HungAfter(p) {
				by[w.Thread.PID] = w
			}
		}
		return by
	})
	w, ok := long[pid]
	return w, ok
}

// stopRank orders processes by what stopping them costs: the rest of an earlier examination, processes outside of pods and
// services of the node, pods, daemons, and what cannot be stopped.
func stopRank(p *forensics.Pass, pid int) int {
	process, ok := p.Model.Process(pid)
	switch {
	case remedy.IsExamination(process):
		return 0
	case !ok:
		return 2
	case process.Kernel || pid == 1:
		return 5
	case remedy.IsDaemon(process):
		return 4
	case process.PodUID != "":
		return 3
	}
	return 1
}

// busyKernel says what in the kernel uses a mount, and adds how to free it: inner mounts before outer ones.
func busyKernel(p *forensics.Pass, f *forensics.Finding, kernel []holders.KernelUser) []string {
	var by []string
	sorting.Stable(kernel, func(a, b holders.KernelUser) int {
		if (a.UserMount == 0) != (b.UserMount == 0) {
			return map[bool]int{true: -1, false: 1}[a.UserMount != 0]
		}
		return cmp.Compare(strings.Count(b.What, "/"), strings.Count(a.What, "/"))
	})
	for _, k := range kernel {
		by = append(by, unmounts.KernelText(k))
		f.Refs = append(f.Refs, forensics.Ref{Source: forensics.SourceHolders, Excerpt: strings.TrimSpace(string(k.Use) + " " + k.What + " " + k.Detail)})
		f.Remedies = append(f.Remedies, unmounts.FreeKernel(p, k))
		if k.UserMount != 0 {
			f.Because = append(f.Because, forensics.MountEntity(k.UserMount))
		}
	}
	return by
}

// callsInFlight names the threads in a system call on a mount. They keep the mount busy as well.
func callsInFlight(p *forensics.Pass, m mounts.Mount) string {
	var calls []string
	copies := copiesByID(p, m)
	for _, w := range stall.WaitersOn(p, m.Device, append(slices.Sorted(maps.Keys(copies)), m.ID)) {
		calls = append(calls, fmt.Sprintf("%s (%s)", forensics.ThreadEntity(w.Thread).ID, w.Thread.Comm))
	}
	if len(calls) == 0 {
		return ""
	}
	return " System calls in flight also keep it busy until they return: " + text.Plural(len(calls), "thread") + ", " + findings.Some(calls) + "."
}

// notBlocking names what keeps the file system, its disk or its server in use after the unmount.
func notBlocking(users []holders.KernelUser) string {
	var names []string
	seen := map[string]bool{}
	for _, k := range users {
		var text string
		switch k.Use {
		case holders.UseOverlay:
			text = fmt.Sprintf("the overlay at %s with a layer on it (%s)", k.What, k.Detail)
		case holders.UseBind:
			text = "another mount of it at " + k.What
		case holders.UseDevice:
			text = k.What + " on the same disk"
		}
		if text != "" && !seen[text] {
			seen[text] = true
			names = append(names, text)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " These do not block the unmount, but keep the file system itself in use: " + findings.Some(names) + "."
}

// refusalFinding is about a refused unmount that only the log shows.
func refusalFinding(p *forensics.Pass, r *unmounts.Refusal) forensics.Finding {
	volume := cmp.Or(r.Events[0].Volume, r.Events[0].UniqueName, r.Path)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: r.Subject, Confidence: forensics.Certain, Pods: findings.UIDs(r.UID),
		ConfidenceWhy: "message of umount in the kubelet's log",
	}
	pod := ""
	if label := findings.PodLabel(p, r.Events[0].PodName, r.UID); label != "" {
		pod = " of pod " + label
		name := r.Events[0].PodName
		if _, known := p.Model.PodName(r.UID); known != "" || name == "" {
			name = strings.TrimPrefix(findings.PodTitle(p, r.UID), "Pod ")
		}
		f.Title = fmt.Sprintf("Volume %s of pod %s cannot be unmounted: target is busy", path.Base(volume), name)
	} else {
		f.Title = fmt.Sprintf("Volume %s cannot be unmounted: target is busy", path.Base(volume))
	}
	f.Detail = fmt.Sprintf("Volume %s%s is in use: a process has an open file or its working directory there, or another mount is on it.", volume, pod)
	if p.Evidence.SawAll(forensics.SourceHolders) {
		f.Detail += " No user was found on this node now. The use may have ended, or it is not visible in /proc. " + unlisted(p) + "."
	} else {
		f.Detail += " Its users were not collected."
	}
	if r.Path != "" {
		f.Remedies = []forensics.Remedy{remedy.OnPath(forensics.Remedy{
			Action: remedy.ActionLook, Why: "lists the processes and mounts that use it",
			Risk: "none: read-only. The mount is not accessed",
		}, r.Path, "List the users of", "nodeforensics", "holders")}
	}
	f.Detail = findings.Sentences(f.Detail, logview.AsOf(p))
	return withRefusal(r, f)
}

// withRefusal adds the log to a finding about the same mount.
func withRefusal(r *unmounts.Refusal, f forensics.Finding) forensics.Finding {
	f.Since = logview.Earliest(f.Since, logview.First(r.Events))
	var next float64
	for _, e := range r.Events {
		next = max(next, e.Number)
	}
	words := "The kubelet's unmount was refused " + findings.Times(logview.Count(r.Events))
	if last := logview.Last(r.Events); last != nil {
		words += fmt.Sprintf(", from %s to %s", logview.Clock(logview.First(r.Events)), logview.Clock(last))
	}
	if next > 0 {
		words += ". It waits " + text.Duration(next) + " until its next try"
	}
	f.Detail = findings.Sentences(f.Detail, words+".")
	f.Refs = append(f.Refs, logview.EventRefs(r.Events...)...)
	return f
}
