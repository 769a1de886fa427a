package stall

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Waiter is a thread and how long it provably waits.
type Waiter struct {
	Thread procs.Thread
	forensics.WaitAtLeast
}

// Waiters lists the threads that wait for a file system ("" is any) and still waited at the second reading, longest first. Those that only
// a text shows are left out: see [Saved].
func Waiters(p *forensics.Pass, device string) []Waiter {
	return forensics.Once(p, "waiters "+device, func() []Waiter { return findWaiters(p, device) })
}

func findWaiters(p *forensics.Pass, device string) []Waiter {
	var found []Waiter
	threads := p.Evidence.Threads
	if device != "" {
		threads = p.Model.ThreadsIn(device)
	}
	for _, t := range threads {
		if t.Gone || t.Saved != "" || device != "" && !waitsFor(p, t, device) {
			continue
		}
		found = append(found, Waiter{t, p.Model.Waited(t)})
	}
	sorting.Stable(found, func(a, b Waiter) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return found
}

// WaitersBy are the waiters for any file system by a key, longest first; "" is no key.
func WaitersBy(p *forensics.Pass, name string, key func(w *Waiter) string) map[string][]Waiter {
	return forensics.Once(p, "waiters by "+name, func() map[string][]Waiter {
		by := map[string][]Waiter{}
		for _, w := range Waiters(p, "") {
			if k := key(&w); k != "" {
				by[k] = append(by[k], w)
			}
		}
		return by
	})
}

// WaitersOn are the waiters for a file system on some of its mounts, longest first.
func WaitersOn(p *forensics.Pass, device string, ids []int) []Waiter {
	by := forensics.Once(p, "waiters by mount "+device, func() map[int][]int {
		at := map[int][]int{}
		for i, w := range Waiters(p, device) {
			at[w.Thread.MountID] = append(at[w.Thread.MountID], i)
		}
		return at
	})
	var at []int
	for _, id := range ids {
		at = append(at, by[id]...)
	}
	slices.Sort(at)
	var found []Waiter
	for _, i := range slices.Compact(at) {
		found = append(found, Waiters(p, device)[i])
	}
	return found
}

// waitsFor says whether a thread waits for the file system device: its path is there, and the kernel shows a wait of that kind.
func waitsFor(p *forensics.Pass, t procs.Thread, device string) bool {
	list := p.Model.MountsOf(device) // any of them: only the type matters, and t may be in another namespace
	return t.Device == device && len(list) > 0 && forensics.WaitsFor(t.Wait, list[0])
}

// HungAfter is the time in seconds that the evidence was collected with.
func HungAfter(p *forensics.Pass) float64 {
	return cmp.Or(p.Evidence.Collector.HungAfterSeconds, forensics.DefaultHungAfter.Seconds())
}

// ThreadRef quotes a thread: its state, call and kernel stack.
func ThreadRef(t procs.Thread) forensics.Ref {
	text := fmt.Sprintf("state %s, wchan %s", t.State, cmp.Or(t.WChan, "unknown"))
	if t.Syscall != nil {
		text += fmt.Sprintf(", syscall %d %v", t.Syscall.Number, t.Syscall.Args)
	}
	for _, f := range t.Stack[:min(len(t.Stack), 8)] {
		text += "\n" + f
	}
	return forensics.Ref{Source: forensics.SourceThreads + ":" + forensics.ThreadEntity(t).ID, Excerpt: text}
}

// ThreadSince is the latest moment at which a thread's wait of so many seconds can have begun. The seconds end with its second reading,
// which is later than the start of the examination.
func ThreadSince(p *forensics.Pass, t procs.Thread, seconds float64) *time.Time {
	return Since(p, seconds-t.SampledSeconds)
}

// Since is the latest moment at which a wait of so many seconds can have begun.
func Since(p *forensics.Pass, seconds float64) *time.Time {
	if p.Evidence.Collected.IsZero() || seconds <= 0 {
		return nil
	}
	t := p.Evidence.Collected.Add(-time.Duration(seconds * float64(time.Second))).UTC().Truncate(time.Second)
	return &t
}

// UnkillableByText says whether a thread that only a text shows belongs to a process that cannot end: read adds a frozen one only if it was
// killed.
func UnkillableByText(t procs.Thread) bool {
	return t.Saved != "" && (t.Dying || t.Wait.Unkillable() && (t.Wait.Kind == procs.WaitExit || t.Wait.Kind == procs.WaitFreezer))
}

// SavedSubject is what a finding about a thread that only a text shows is about: the process that cannot end, as far as the text names it.
func SavedSubject(t procs.Thread) forensics.Entity {
	if UnkillableByText(t) && t.PID != 0 && !t.PIDUnknown {
		return forensics.Entity{Kind: forensics.KindProcess, ID: strconv.Itoa(t.PID)}
	}
	return forensics.ThreadEntity(t)
}
