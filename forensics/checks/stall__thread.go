package checks

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// waiter is a thread and how long it provably waits.
type waiter struct {
	thread  procs.Thread
	seconds float64
	from    string
}

// waiters lists the threads that wait for a file system ("" is any) and were still waiting at the second look,
// longest first.
func waiters(p *forensics.Pass, device string) []waiter {
	return forensics.Once(p, "waiters "+device, func() []waiter { return findWaiters(p, device) })
}

func findWaiters(p *forensics.Pass, device string) []waiter {
	var found []waiter
	threads := p.Evidence.Threads
	if device != "" {
		threads = p.Model.ThreadsIn(device)
	}
	for _, t := range threads {
		if t.Gone || device != "" && !waitsFor(p, t, device) {
			continue
		}
		seconds, from := p.Model.Waited(t)
		found = append(found, waiter{t, seconds, from})
	}
	sorting.Stable(found, func(a, b waiter) int { return cmp.Compare(b.seconds, a.seconds) })
	return found
}

// waitersBy are the waiters for any file system by a key, longest first; "" is no key.
func waitersBy(p *forensics.Pass, name string, key func(w *waiter) string) map[string][]waiter {
	return forensics.Once(p, "waiters by "+name, func() map[string][]waiter {
		by := map[string][]waiter{}
		for _, w := range waiters(p, "") {
			if k := key(&w); k != "" {
				by[k] = append(by[k], w)
			}
		}
		return by
	})
}

// waitersOn are the waiters for a file system on some of its mounts, longest first.
func waitersOn(p *forensics.Pass, device string, ids []int) []waiter {
	by := forensics.Once(p, "waiters by mount "+device, func() map[int][]int {
		at := map[int][]int{}
		for i, w := range waiters(p, device) {
			at[w.thread.MountID] = append(at[w.thread.MountID], i)
		}
		return at
	})
	var at []int
	for _, id := range ids {
		at = append(at, by[id]...)
	}
	slices.Sort(at)
	var found []waiter
	for _, i := range slices.Compact(at) {
		found = append(found, waiters(p, device)[i])
	}
	return found
}

// waitsFor says whether a thread waits for the file system device: its path lies there, and the kernel names a wait
// of that kind.
func waitsFor(p *forensics.Pass, t procs.Thread, device string) bool {
	list := p.Model.MountsOf(device) // any of them: only the type matters, and t may be in another namespace
	return t.Device == device && len(list) > 0 && forensics.WaitsFor(t.Wait, list[0])
}

// hungAfter is the time in seconds that the evidence was collected with.
func hungAfter(p *forensics.Pass) float64 {
	return cmp.Or(p.Evidence.Collector.HungAfterSeconds, forensics.DefaultHungAfter.Seconds())
}

func threadRef(t procs.Thread) forensics.Ref {
	text := fmt.Sprintf("state %s, wchan %s", t.State, cmp.Or(t.WChan, "unknown"))
	if t.Syscall != nil {
		text += fmt.Sprintf(", syscall %d %v", t.Syscall.Number, t.Syscall.Args)
	}
	for _, f := range t.Stack[:min(len(t.Stack), 8)] {
		text += "\n" + f
	}
	return forensics.Ref{Source: forensics.SourceThreads + ":" + forensics.ThreadEntity(t).ID, Excerpt: text}
}

// threadSince is the moment at which a thread's wait of so many seconds began at the latest. They end with the second look at
// it, which comes later than the examination began.
func threadSince(p *forensics.Pass, t procs.Thread, seconds float64) *time.Time {
	return since(p, seconds-t.SampledSeconds)
}

// since is the moment at which a wait of so many seconds began at the latest.
func since(p *forensics.Pass, seconds float64) *time.Time {
	if p.Evidence.Collected.IsZero() || seconds <= 0 {
		return nil
	}
	t := p.Evidence.Collected.Add(-time.Duration(seconds * float64(time.Second))).UTC().Truncate(time.Second)
	return &t
}
