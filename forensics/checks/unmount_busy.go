package checks

import (
	"cmp"
	"fmt"
	"maps"
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
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// unmountBusy finds what keeps mounts from being unmounted that somebody unmounts or would.
var unmountBusy = forensics.Check{
	ID:    "unmount-busy",
	Title: "A mount that should go is in use",
	Doc: `A mount that is in use although somebody unmounts it, or would: one below the directory of a pod that is gone or
terminating ("target is busy" in the kubelet's log, again every two minutes); one that a running umount(8) or
fusermount(1) names; a volume that a CSI driver or the kubelet has staged for pods of which none is left. For those it is
a warning. For a file system that does not answer, is stale or has lost its server it is information: to be rid of it, it
has to be unmounted.

It names what makes umount(2) answer EBUSY: processes with a working or root directory, program, open or mapped file on
that very mount, and mounts below it, loop devices, mounted images, swap, NFS exports, interpreters of binfmt_misc, uprobe events and bound sockets, in the order in which to stop
them. An earlier examination that never came back from the mount is among them. Holds were confirmed by mount id where
the kernel tells it (Linux 3.15); working and root directories are told by their path. Containers of a terminating pod
itself are not counted, unless the kubelet's log shows the refusal: it unmounts only when they have ended. A process in
another mount namespace keeps the host's mount busy where propagation ties its copy to it (HostToContainer, Bidirectional;
propagate_mount_busy in fs/pnode.c): it is named with that mount. With a private copy it does not: see
mount-leaked-namespace. System calls under way hold a mount, too, and are named beside the others. So is what is
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
	list = slices.DeleteFunc(slices.Clone(list), func(h holders.Holder) bool {
		process, _ := p.Model.Process(h.PID)
		return h.PID == g.By || g.Pod != "" && process.PodUID == g.Pod
	})
	users := kernel
	kernel = slices.DeleteFunc(slices.Clone(kernel), func(k holders.KernelUser) bool { return !k.Blocks })
	if len(list)+len(kernel) == 0 {
		return
	}
	f := forensics.Finding{
		Severity: g.Severity, Subject: forensics.MountEntity(m.ID), Confidence: forensics.Certain, ConfidenceWhy: "the holds were read from /proc; " + g.Why,
	}
	if uid, _ := forensics.PodOf(m.MountPoint); uid != "" {
		f.Pods = []string{uid}
	}
	if !slices.ContainsFunc(list, func(h holders.Holder) bool { return !h.ByPath }) &&
		!slices.ContainsFunc(kernel, func(k holders.KernelUser) bool { return k.Use == holders.UseMount }) { // others are told by path
		f.Confidence = forensics.Likely
		f.ConfidenceWhy += "; all of them were told by their path, which misleads where mounts lie on each other"
	}
	by, waiting := busyProcesses(p, &f, m, list)
	by = append(by, busyKernel(p, &f, kernel)...)
	f.Title = fmt.Sprintf("mount %d at %s cannot be unmounted: %s", m.ID, m.MountPoint, findings.Some(by))
	f.Detail = fmt.Sprintf("Somebody wants it gone: %s. umount answers EBUSY (\"target is busy\") until nothing of this is left: %s.%s%s%s %s.",
		g.Why, strings.Join(by, "; "), callsUnderWay(p, m), notInTheWay(users), kubeletHolds(p, list), unlisted(p))
	f.Remedies = append(f.Remedies, unmounts.AtLast(p, m, waiting)...)
	for _, r := range unmounts.BySubject(p, refused)[f.Subject] {
		r.Reported = true
		f.Severity = forensics.Warning // somebody has tried, and was refused
		f = withRefusal(r, f)
	}
	p.Report(f)
}

// kubeletHolds says whether the kubelet is in the way, since it is what people restart first.
func kubeletHolds(p *forensics.Pass, holders []holders.Holder) string {
	if k := p.Evidence.Kubelet; k != nil && slices.Contains(mountuse.PIDs(holders), k.PID) {
		return ""
	}
	return " Restarting the kubelet does not help."
}

// unlisted says what may hold a mount besides what was found.
func unlisted(p *forensics.Pass) string {
	text := findings.Capital(holders.KernelBlind)
	if list := mountuse.Of(p).Unseen; len(list) > 0 {
		text += ". Of some processes it is not known what they hold: " + findings.Some(list)
	}
	return text
}

// busyProcesses says which processes hold a mount, and adds how to stop them, in the order in which to do it. The steps for
// those that cannot end before their wait for the mount does are returned apart.
func busyProcesses(p *forensics.Pass, f *forensics.Finding, m mounts.Mount, list []holders.Holder) (by []string, waiting []forensics.Remedy) {
	pids := mountuse.PIDs(list)
	sorting.Stable(pids, func(a, b int) int { return cmp.Compare(stopRank(p, a), stopRank(p, b)) })
	first := map[int]holders.Holder{}
	for _, h := range slices.Backward(list) {
		first[h.PID] = h
	}
	on := copiesByID(p, m)
	for _, pid := range pids {
		holder := first[pid]
		text, step := findings.ProcessName(p, pid)+" "+mountuse.How(holder), remedy.StopHolder(p, pid)
		if c, ok := on[holder.MountID]; ok {
			text += " on " + p.Model.Uses().DescribeCopy(c) + ", which propagation ties to it"
		}
		w, waits := waitsLong(p, pid, m.Device)
		if waits {
			text += fmt.Sprintf(" (its thread %d waits in the kernel for this file system)", w.Thread.TID)
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

// despiteWait is how to stop a process although its thread waits: SIGKILL, which is also what the kubelet and systemd send in the
// end, ends some waits, and others have to end first.
func despiteWait(r forensics.Remedy, w stall.Waiter) forensics.Remedy {
	switch {
	case !w.Thread.Wait.Killable():
		r.OnlyIf = strings.TrimPrefix(r.OnlyIf+"; the wait of its thread "+strconv.Itoa(w.Thread.TID)+
			" has been ended first: a kill takes effect only then", "; ")
	case r.Action == remedy.ActionStop:
		r.Risk = "what it has not written is lost; SIGKILL alone ends its wait in the kernel"
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

// stopRank orders holders by what stopping them costs: what is left of an earlier examination, processes that belong to
// nothing, pods, daemons, and what cannot be stopped.
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

// busyKernel says what in the kernel holds a mount, and adds how to free it: inner mounts before outer ones.
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

// callsUnderWay names the threads that are in the middle of a call on a mount. The kernel counts those, too.
func callsUnderWay(p *forensics.Pass, m mounts.Mount) string {
	var calls []string
	copies := copiesByID(p, m)
	for _, w := range stall.WaitersOn(p, m.Device, append(slices.Sorted(maps.Keys(copies)), m.ID)) {
		calls = append(calls, fmt.Sprintf("%s (%s)", forensics.ThreadEntity(w.Thread).ID, w.Thread.Comm))
	}
	if len(calls) == 0 {
		return ""
	}
	return " System calls under way hold it, too, until they return: those of " + text.Plural(len(calls), "thread") + ", " + findings.Some(calls) + "."
}

// notInTheWay names what keeps the file system in use, its disk or its server, when the mount is gone.
func notInTheWay(users []holders.KernelUser) string {
	var names []string
	seen := map[string]bool{}
	for _, k := range users {
		var text string
		switch k.Use {
		case holders.UseOverlay:
			text = fmt.Sprintf("the overlay at %s has a layer on it (%s)", k.What, k.Detail)
		case holders.UseBind:
			text = "it is mounted at " + k.What + ", too"
		case holders.UseDevice:
			text = k.What + " is on the same disk"
		}
		if text != "" && !seen[text] {
			seen[text] = true
			names = append(names, text)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " Not in the way, but with it the file system itself stays in use: " + findings.Some(names) + "."
}

// refusalFinding is what the log alone says.
func refusalFinding(p *forensics.Pass, r *unmounts.Refusal) forensics.Finding {
	volume := cmp.Or(r.Events[0].Volume, r.Events[0].UniqueName, r.Path)
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: r.Subject, Confidence: forensics.Certain, Pods: findings.UIDs(r.UID),
		Title: fmt.Sprintf("volume %s of pod %s cannot be unmounted: the target is busy", volume,
			findings.PodLabel(p, r.Events[0].PodName, r.UID)),
		ConfidenceWhy: "umount said so, in the kubelet's log",
		Detail:        "Somebody holds it: a process with a file or its working directory there, or a mount on it.",
	}
	if ok, _ := p.Evidence.Saw(forensics.SourceHolders); ok {
		f.Detail += " Nobody who does was found on this node now: it may be over, or it is what cannot be seen in /proc. Not visible there: " + unlisted(p) + "."
	} else {
		f.Detail += " Who it is was not looked for."
	}
	if r.Path != "" {
		f.Remedies = []forensics.Remedy{remedy.OnPath(forensics.Remedy{
			Action: remedy.ActionLook, Why: "names the processes and mounts that hold it",
			Risk: "none: it reads, and it does not touch the mount",
		}, r.Path, "See who holds", "nodeforensics", "holders")}
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
	words := fmt.Sprintf("The kubelet was refused %s, from %s to %s", findings.Times(logview.Count(r.Events)), logview.Clock(logview.First(r.Events)), logview.Clock(logview.Last(r.Events)))
	if next > 0 {
		words += ", and waits " + text.Duration(next) + " until its next try"
	}
	f.Detail = findings.Sentences(f.Detail, words+".")
	f.Refs = append(f.Refs, logview.EventRefs(r.Events...)...)
	return f
}
