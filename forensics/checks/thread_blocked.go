package checks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/fsview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// threadBlocked finds threads that are blocked in a file system.
var threadBlocked = forensics.Check{
	ID:    "thread-blocked",
	Title: "A thread is blocked in a file system",
	Doc: `A thread that provably has waited in a file system or for a disk longer than --hung-after. The kernel shows that wait (wchan,
kernel stack); the state letter does not matter: a wait for a FUSE server is state S. The threads of one process that wait
for the same thing are one finding, named after the one that has waited longest.

Throttling by dirty pages is not a hang and is left out. So is a wait for a file lock (flock, fcntl) of another program.

The kernel's own message about the thread ("blocked for more than 120 seconds") is quoted where the kernel log has it. The
kernel logs none about waits that a signal ends, such as those for NFS and FUSE.

A goroutine dump alone shows such a wait, too. Other checks judge what the kubelet does on that stack. This one reports a
goroutine of which the callers are cut off, if it provably has waited in a call on a file for at least a minute. Of other programs
it reports one that has waited as long for a disk to write (fsync, fdatasync), if it serves no request.

Kernel stacks and process lists in saved texts show that a thread waited, not for how long. Those that wait for a server are
reported as likely, and other waits if three threads have them. Tasks that the kernel reported as hung are left to kernel-hung-task.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceThreads, forensics.SourceGoroutines, forensics.SourceOtherGoroutines}},
	Run: func(p *forensics.Pass) {
		reportCutStacks(p)
		reportSaved(p)
		if ok, why := p.Evidence.Saw(forensics.SourceThreads); !ok {
			p.Unjudged("the threads were not read: %s", why)
			return
		}
		type group struct {
			pid    int
			device string
			wait   procs.WaitKind
		}
		var unknown []string
		counts, first, order := map[group]int{}, map[group]stall.Waiter{}, []group{}
		for _, w := range stall.Waiters(p, "") {
			if noHang(w.Thread.Wait) {
				continue
			}
			if w.Seconds < stall.HungAfter(p) {
				if !w.Measured {
					unknown = append(unknown, forensics.ThreadEntity(w.Thread).ID)
				}
				continue
			}
			g := group{w.Thread.PID, w.Thread.Device, w.Thread.Wait.Kind}
			if counts[g]++; counts[g] == 1 {
				first[g] = w
				order = append(order, g)
			}
		}
		for _, g := range order {
			p.Report(blockedFinding(p, first[g], counts[g]))
		}
		if len(unknown) > 0 {
			p.Unjudged("%s not judged: the duration of the wait is unknown (%s)", text.Plural(len(unknown), "waiting thread"), findings.Some(unknown))
		}
	},
}

// reportCutStacks reports what a cut dump alone shows.
func reportCutStacks(p *forensics.Pass) {
	starts := cutStarts(p) // which another check reports
	list := sorting.Delete(stall.CutStacks(p), func(t stall.Goroutine) bool {
		return slices.ContainsFunc(starts, func(s stall.Goroutine) bool { return s.Entity() == t.Entity() })
	})
	if len(list) == 0 {
		return
	}
	part := stall.Number(stall.Count(list)) + " calls" // "blocked for … in a file system call" follows
	if stall.Count(list) == 1 {
		part = "a call"
	}
	who := "a program"
	cut := "The dump is cut: what called it is not known."
	switch program := p.Evidence.Dumps[list[0].Dump].Program; program {
	case "":
	case "kubelet":
		who = program
	default:
		who, part, cut = program, "a write to the disk", "It waits until the disk has what it wrote. What else writes to the same file waits behind it."
	}
	f := stall.Finding(p, list[0].Entity(), stall.Headline{Is: who + " is stuck", May: who + " may be stuck", Part: part, Effect: who + " is blocked in a file system"}, list, nil)
	f.Severity, f.Because = forensics.Warning, nil
	f.Detail = findings.Sentences(f.Detail, cut)
	p.Report(f)
}

// reportSaved reports threads that only a saved text shows: together those that wait for one file system.
func reportSaved(p *forensics.Pass) {
	reported := map[string]bool{}
	for _, e := range logview.Events(p, logs.KindKernelHungTask) {
		reported[taskNumber(e.Process)] = true
	}
	groups, order := map[string][]procs.Thread{}, []string{}
	for _, t := range p.Evidence.Threads {
		if t.Saved == "" || stall.UnkillableByText(t) || t.PID != 0 && reported[strconv.Itoa(t.TID)] {
			continue
		}
		key := t.Device
		if key == "" && savedWhere(t.Wait) != "" {
			key = "waits" + savedWhere(t.Wait)
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], t)
	}
	for _, key := range order {
		p.Report(savedFinding(p, groups[key]))
	}
}

func savedFinding(p *forensics.Pass, list []procs.Thread) forensics.Finding {
	t := list[0]
	var names []string
	for _, other := range list {
		names = findings.Union(names, []string{savedName(other)})
	}
	who, verb := names[0], " is"
	if more := len(list) - 1; more > 0 {
		who, verb = fmt.Sprintf("%s and %d more", who, more), " are"
	}
	title := who + verb + " blocked in the kernel"
	server := savedWhere(t.Wait)
	if server != "" {
		title = server + " does not respond: " + who + verb + " blocked"
	} else if fs := t.Wait.FS; fs != "" && !slices.ContainsFunc(list, func(t procs.Thread) bool { return t.Wait.FS != fs }) {
		title += " in " + fs
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.ThreadEntity(t), Confidence: forensics.Likely,
		Effect: who + verb + " blocked", Title: headline.Fit(title),
		ConfidenceWhy: "the text shows the wait, and not for how long; whether it has ended since is not known",
		Detail:        findings.Sentences("Blocked: "+findings.Some(names)+".", t.Wait.Meaning) + waitFacts(t),
	}
	for _, other := range list[:min(len(list), findings.MaxQuoted)] {
		f.Refs = append(f.Refs, stall.ThreadRef(other))
		if uid, _ := forensics.PodOf(other.Path); uid != "" {
			f.Pods = findings.Union(f.Pods, []string{uid})
		}
	}
	if t.Wait.Kind == procs.WaitOtherDisk && t.Device == "" {
		f.Confidence = forensics.Possible
	}
	if unnamedFreeze(p, t) {
		f.Because = []forensics.Entity{unnamedFrozen}
	}
	look := forensics.Remedy{
		Action: remedy.ActionLook, Instruction: "On the node, check first that it still waits: cat /proc/PID/stack of the blocked processes, twice",
		Why: "a wait that has ended needs no step; the same stack twice shows that it has not", Risk: "none: read-only",
	}
	if t.PID != 0 {
		look = remedy.Run(look, remedy.ActionLook, "cat", fmt.Sprintf("/proc/%d/stack", t.PID))
		look.OnlyIf = "on the node, check first: the process still exists"
	}
	f.Remedies = []forensics.Remedy{look}
	mounted := p.Model.MountsOf(t.Device)
	if len(mounted) == 0 {
		if server != "" {
			f.Remedies = append(f.Remedies, incident.Look("shows which mounts are of this kind. It reads no mount", "cat", "/proc/self/mountinfo"))
		}
		return f
	}
	s := fsview.Superblock{Device: t.Device, Mounts: mounted}
	f.Subject = s.Entity()
	f.Title = headline.Fit(s.Label() + " does not respond: " + who + verb + " blocked")
	f.Detail = findings.Sentences(f.Detail, "The path or the only such file system of the text is "+s.Label()+", mounted at "+s.Where()+".")
	f.Pods = findings.Union(f.Pods, p.Model.PodsOf(t.Device))
	for _, r := range hungRemedies(p, s) {
		if !strings.HasPrefix(r.OnlyIf, "on the node, check first") {
			r.OnlyIf = strings.TrimSuffix("on the node, check first: the processes still wait; "+r.OnlyIf, "; ")
		}
		f.Remedies = append(f.Remedies, r)
	}
	return fsview.WithKernel(p, mounted[0], f)
}

// savedName is "umount.nfs4 (pid 9120)", as far as the text names the thread.
func savedName(t procs.Thread) string {
	switch {
	case t.PID == 0:
		return "a process"
	case t.Comm == "" && t.PIDUnknown:
		return fmt.Sprintf("task %d", t.TID)
	case t.Comm == "":
		return fmt.Sprintf("process %d", t.PID)
	}
	return threadName(t)
}

// threadName is "umount.nfs4 (pid 9120)", or "kubelet (task 9839)" where only the thread's number is known.
func threadName(t procs.Thread) string {
	if t.PIDUnknown {
		return fmt.Sprintf("%s (task %d)", t.Comm, t.TID)
	}
	return fmt.Sprintf("%s (pid %d)", t.Comm, t.PID)
}

// savedWhere is the server that a wait is for, where no mount is known; "" for other waits.
func savedWhere(w procs.Wait) string {
	switch w.Kind {
	case procs.WaitServer, procs.WaitRetry:
		if w.FS != "" {
			return fsfamily.Label(w.FS, "") + " server"
		}
		return "File server"
	case procs.WaitFUSE:
		return "FUSE server"
	case procs.WaitAutofs:
		return "Automounter"
	}
	return ""
}

// noHang says that a wait ends by itself, or when another program is done.
func noHang(w procs.Wait) bool { return w.Kind == procs.WaitWriteback || w.Kind == procs.WaitFileLock }

func blockedFinding(p *forensics.Pass, w stall.Waiter, count int) forensics.Finding {
	t := w.Thread
	name := findings.ProcessTitle(p, t.PID)
	if process, _ := p.Model.Process(t.PID); process.Comm == "" && t.Comm != "" {
		name = threadName(t)
	}
	who, verb, atLeast := name, " has", "at least "
	if count > 1 {
		who, verb = fmt.Sprintf("%d threads of %s", count, name), " have"
	}
	if w.Measured {
		atLeast = ""
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.ThreadEntity(t), Confidence: forensics.Certain,
		Because:       forensics.Causes(p.Model, forensics.ThreadEntity(t)),
		Title:         who + verb + " been blocked for " + atLeast + text.Duration(w.Seconds) + stall.OnWhat(p, t),
		Effect:        strings.Replace(strings.Replace(who+verb, " has", " is", 1), " have", " are", 1) + " blocked",
		ConfidenceWhy: w.From, Refs: []forensics.Ref{stall.ThreadRef(t)}, Since: stall.ThreadSince(p, t, w.Seconds),
	}
	f.Detail = strings.TrimSpace(fmt.Sprintf("Thread %d/%d (%s) %s. %s", t.PID, t.TID, t.Comm, forensics.DescribeWait(t, p.Model.Waited(t)), t.Wait.Meaning)) + waitFacts(t)
	if p.Model.Answered(t.Device) {
		f.Detail += " The file system responded to this program: only this call, or what it accesses, takes long."
	}
	text, refs := fsview.Behind(p, t.Device)
	f.Detail += text
	f.Refs = append(f.Refs, refs...)
	if j := p.Model.GoroutineOf(t.PID, t.TID); j != nil {
		f.Detail += fmt.Sprintf(" It runs goroutine %d.", j.Goroutine)
	}
	if process, ok := p.Model.Process(t.PID); ok && process.PodUID != "" {
		f.Pods = []string{process.PodUID}
	}
	return logview.WithHungTask(p, f, t)
}

// waitFacts says which part of the kernel a thread waits in, and whether a signal ends the wait.
func waitFacts(t procs.Thread) string {
	text := ""
	if name := subsystems[t.Wait.Kind]; name != "" {
		text = " The wait is in " + name
		if t.Wait.FS != "" && t.Wait.Kind != procs.WaitFUSE {
			text += " (" + t.Wait.FS + ")"
		}
		text += "."
	}
	switch {
	case t.Wait.Killable():
		text += " SIGKILL ends the wait; no other signal does. The kernel's hung-task detector never reports such a wait."
	case t.Wait.Unkillable():
		text += " No signal ends the wait, not even SIGKILL."
	}
	if t.State == "S" && t.Wait.Kind == procs.WaitFUSE {
		text += " Its state is S: the kernel counts it neither as blocked nor in the load average."
	}
	return text
}

// subsystems name the parts of the kernel.
var subsystems = map[procs.WaitKind]string{
	procs.WaitServer:   "the client of a network file system",
	procs.WaitRetry:    "the client of a network file system",
	procs.WaitFUSE:     "the kernel's FUSE client",
	procs.WaitAutofs:   "the automounter",
	procs.WaitJournal:  "the journal of a disk file system",
	procs.WaitBlock:    "the block layer",
	procs.WaitFrozen:   "the freeze protection of a file system",
	procs.WaitFSLock:   "the locks of directories, superblocks and mounts",
	procs.WaitMmapLock: "memory management (the lock of a memory map)",
	procs.WaitCgroup:   "the cgroup core",
	procs.WaitFreezer:  "the freezer of cgroups",
	procs.WaitExit:     "process exit",
}
