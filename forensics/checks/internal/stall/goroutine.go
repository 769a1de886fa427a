// Package stall says what blocks the kubelet's goroutines and the node's threads: a file system, a lock, a child process, or an answer
// of another daemon. It also says for how long, at least.
package stall

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Goroutine is a blocked goroutine, what it waits for, and what proves that.
type Goroutine struct {
	Stack
	Wait   Wait
	Thread *procs.Thread // nil where it is not known
	// WaitAtLeast is how long it has provably been blocked.
	forensics.WaitAtLeast
	// Proven says that it has been blocked for long enough to be called stuck: a minute by its own stamp (which then says 3), or
	// --hung-after by the kernel. Otherwise it is only likely.
	Proven bool
	Why    string
	// Holder is the goroutine that most likely has the lock that it waits for.
	Holder *LockHolder
}

// StuckAfter is the age in seconds from which a goroutine that the dump alone shows counts as stuck.
const StuckAfter = 60

// Stalled judges one goroutine. It is false for one that is idle, that has not provably been blocked for long enough, or that
// continued before the second reading.
func Stalled(p *forensics.Pass, s Stack) (Goroutine, bool) {
	t := Goroutine{Stack: s, Wait: WaitOf(s.Goroutine), Thread: s.thread(p)}
	if t.Wait.Kind == WaitChild && t.Wait.PID == 0 && !t.Wait.output {
		t.Wait.PID, t.Wait.inferred = onlyChild(p, s.Dump), true
	}
	if t.Wait.Kind == waitNothing || t.Thread != nil && t.Thread.Gone {
		return t, false
	}
	t.WaitAtLeast = s.Blocked(p)
	t.Why = t.From
	same := SameFor(p, s.Dump, s.Goroutine)
	if same > t.Seconds {
		t.WaitAtLeast = forensics.WaitAtLeast{Seconds: same, Known: true, From: "two dumps show it in the same call"}
	}
	switch {
	case t.short(p):
		return t, false
	case t.Seconds >= StuckAfter && same < t.Seconds, t.Thread != nil && t.Seconds >= HungAfter(p) && same < t.Seconds:
		t.Proven = true
		if same > 0 {
			t.Why += fmt.Sprintf("; two dumps %s apart show it in the same call with the same %s", text.Duration(same), compared(s.Goroutine))
		}
	case same >= HungAfter(p):
		t.Why = fmt.Sprintf("two dumps %s apart show it in the same call with the same %s", text.Duration(same), compared(s.Goroutine))
	case s.Goroutine.WaitMinutes > 0:
		t.Why = dumpPrints(s.Goroutine)
	case headless(s.Goroutine) && s.Of.HasStates() && !t.Wait.Kind.endsByItself():
		t.Why = "the dump lacks this goroutine's first lines, and with them its state and age; this call normally returns at once"
	case s.Goroutine.State == "" && !t.Wait.Kind.endsByItself():
		t.Why = "this form of dump has no durations, but this call normally returns at once"
	case t.Wait.Kind == WaitFile && endedInStart(s):
		t.Why = "a signal ended the program while its main goroutine was in this call, which normally returns at once"
	default:
		return t, false
	}
	if t.Wait.Kind == WaitLock {
		if h, ok := holderOf(p, s, t.Wait); ok {
			t.Holder = &h
		}
	}
	return t, true
}

// endedInStart says whether somebody has ended a program that was still in a call of its start: on goroutine 1. The dump prints no age where the
// garbage collection, which begins to count, has not run since: the runtime does that every two minutes.
func endedInStart(s Stack) bool {
	signalled := s.Of.HasStates() && s.Of.Form != goroutines.FormDebug2 &&
		(s.Of.Header == "" || strings.HasPrefix(s.Of.Header, "SIGABRT") || strings.HasPrefix(s.Of.Header, "SIGQUIT"))
	return signalled && s.Goroutine.ID == 1 && s.Goroutine.State == "syscall"
}

// compared is what two dumps were compared by: what was read from memory has no arguments, but the whole stack.
func compared(g goroutines.Goroutine) string {
	if g.StackSum != "" {
		return "stack"
	}
	return "arguments"
}

// short says that a wait is known to be short, whatever the dump prints: by the kernel's clock the thread ran a moment ago, and it
// slept until the second reading. A client that retries runs in between.
func (t Goroutine) short(p *forensics.Pass) bool {
	return t.Measured && t.Thread.Same && t.Thread.Wait.Kind != procs.WaitRetry && t.Seconds < min(HungAfter(p), StuckAfter)
}

// All lists the blocked goroutines that have one of the functions on their stack, the proven ones first, then the longest.
func All(p *forensics.Pass, functions ...string) []Goroutine {
	var found []Goroutine
	for s := range Stacks(p) {
		if !HasFrame(s.Goroutine, functions...) {
			continue
		}
		if t, ok := Stalled(p, s); ok {
			found = append(found, t)
		}
	}
	sorting.Stable(found, Compare)
	return found
}

// Count is how many goroutines they are: in a large dump one can represent many equal ones.
func Count(list []Goroutine) int {
	n := 0
	for _, t := range list {
		n += max(1, t.Goroutine.Count)
	}
	return n
}

// Compare orders those that are proven first, then by their age, longest first.
func Compare(a, b Goroutine) int {
	if a.Proven != b.Proven {
		if a.Proven {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.Seconds, a.Seconds)
}

// because is the cause: for a file system the goroutine, which leads to its thread and mount, otherwise what it waits for.
func (t Goroutine) because(p *forensics.Pass) []forensics.Entity {
	switch t.Wait.Kind {
	case WaitRuntime:
		return []forensics.Entity{p.Model.RuntimeEntity()}
	case waitPLEG:
		return []forensics.Entity{PlegEntity}
	case waitUsage:
		for _, other := range All(p, "cadvisor/manager.(*containerData).housekeeping") {
			if other.Dump == t.Dump && other.Wait.Kind == WaitFile {
				return []forensics.Entity{other.Entity()}
			}
		}
	case WaitCSI:
		if driver := OnlyDriver(p); driver != "" {
			return []forensics.Entity{{Kind: forensics.KindCSIDriver, ID: driver}}
		}
	case WaitChild:
		if t.Wait.PID != 0 {
			return []forensics.Entity{{Kind: forensics.KindProcess, ID: strconv.Itoa(t.Wait.PID)}}
		}
	case WaitSystemd:
		if init, ok := p.Model.Process(1); ok && init.Comm == "systemd" {
			return []forensics.Entity{{Kind: forensics.KindProcess, ID: "1"}}
		}
	case WaitLock:
		if t.Holder != nil {
			return []forensics.Entity{t.Holder.Stack.Entity()}
		}
	}
	switch {
	case t.Goroutine.ID != 0:
		return []forensics.Entity{t.Entity()}
	case t.Wait.Kind == WaitFile:
		if w, ok := OnlyWaiter(p); ok {
			return []forensics.Entity{forensics.ThreadEntity(w.Thread)}
		}
	}
	return nil
}

// onlyChild is the only child of the program that was dumped, if it has exactly one: from Go 1.23 on a dump has the child's pidfd instead
// of its pid.
func onlyChild(p *forensics.Pass, dump int) int {
	parent := p.Evidence.Dumps[dump].PID
	if k := p.Evidence.Kubelet; parent == 0 && k != nil {
		parent = k.PID
	}
	if parent == 0 {
		return 0
	}
	return forensics.Once(p, fmt.Sprint("only child of ", parent), func() int {
		child := 0
		for _, process := range p.Evidence.Processes {
			if process.PPID != parent {
				continue
			}
			if child != 0 {
				return 0
			}
			child = process.PID
		}
		return child
	})
}

// OnlyDriver is the CSI driver of this node's volumes, if they have a single one.
func OnlyDriver(p *forensics.Pass) string {
	return forensics.Once(p, "the only CSI driver", func() string { return findOnlyDriver(p) })
}

func findOnlyDriver(p *forensics.Pass) string {
	driver := ""
	for _, d := range p.Evidence.PodDirs {
		for _, v := range d.Volumes {
			if v.VolData == nil || v.VolData.Driver == "" {
				continue
			}
			if driver != "" && driver != v.VolData.Driver {
				return ""
			}
			driver = v.VolData.Driver
		}
	}
	return driver
}

// OnlyWaiter is the kubelet's thread that waits for a file system, if there is exactly one: an aggregated dump has
// nothing to join it by.
func OnlyWaiter(p *forensics.Pass) (Waiter, bool) {
	found := forensics.Once(p, "the kubelet's waits", func() []Waiter {
		var found []Waiter
		for _, w := range Waiters(p, "") {
			if k := p.Evidence.Kubelet; k != nil && k.PID != 0 && w.Thread.PID == k.PID && w.Seconds >= HungAfter(p) {
				found = append(found, w)
			}
		}
		return found
	})
	if len(found) != 1 {
		return Waiter{}, false
	}
	return found[0], true
}
