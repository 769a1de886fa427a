package checks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kubeletLockContention finds goroutines that wait long for one lock, and the goroutine that most likely has it.
var kubeletLockContention = forensics.Check{
	ID:    "kubelet-lock-contention",
	Title: "Goroutines wait for a lock",
	Doc: `Goroutines that have waited for a minute or more for one sync.Mutex or sync.RWMutex. Another goroutine has the lock and does
not release it: the kubelet normally keeps a lock for microseconds.

A lock is identified by its address in the arguments (sync.(*Mutex).Lock, lockSlow, RWMutex.RLock). The states are
"sync.Mutex.Lock" and similar from Go 1.20 on, "semacquire" before; all kubelets from 1.10 to 1.36 have them. Where the
runtime did not print the address, the lock is identified by the method that locks.

Go does not record which goroutine has a lock. The finding names the one that most likely has it:

- It is in a method of the object that contains the lock, by the receiver's address.
- It does not wait for this lock, and is blocked elsewhere.
- The Kubelet object has many methods and locks: there it must be in the same method.

That part is always an inference. Dumps of the debug=0 and debug=1 forms have neither addresses nor ages: there 100 goroutines count
that wait with one stack.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceGoroutines}},
	Run: func(p *forensics.Pass) {
		for _, list := range contended(p) {
			p.Report(lockFinding(p, list))
		}
	},
}

// maxLocks is how many locks one report names.
const maxLocks = 20

// contended lists the waiting goroutines of each lock, longest first; the lock with the most waiters comes first.
func contended(p *forensics.Pass) [][]stall.Goroutine {
	type key struct {
		dump int
		lock uint64
		in   string // where the address is not known, the method that locks
	}
	byLock := map[key][]stall.Goroutine{}
	var order []key
	for s := range stall.Stacks(p) {
		w := stall.WaitOf(s.Goroutine)
		if w.Kind != stall.WaitLock || s.Goroutine.ID == 0 && s.Goroutine.State == "" && s.Goroutine.Count < manyBlocked {
			continue
		}
		t := stall.Goroutine{Stack: s, Wait: w}
		t.WaitAtLeast = s.Blocked(p)
		k := key{s.Dump, w.Lock, ""}
		if w.Lock == 0 {
			k.in = w.Call
		}
		if byLock[k] == nil {
			order = append(order, k)
		}
		byLock[k] = append(byLock[k], t)
	}
	var found [][]stall.Goroutine
	for _, k := range order {
		list := byLock[k]
		sorting.Stable(list, func(a, b stall.Goroutine) int { return cmp.Compare(b.Seconds, a.Seconds) })
		if worst, ok := stall.Stalled(p, list[0].Stack); ok {
			list[0] = worst
			found = append(found, list)
		}
	}
	sorting.Stable(found, func(a, b []stall.Goroutine) int { return cmp.Compare(stall.Count(b), stall.Count(a)) })
	return found[:min(len(found), maxLocks)]
}

func lockFinding(p *forensics.Pass, list []stall.Goroutine) forensics.Finding {
	worst := list[0]
	verb, longest := " waits", ""
	if stall.Count(list) > 1 {
		verb, longest = " wait", "the longest wait: "
		if worst.Known {
			longest = "the longest wait, " + text.Duration(worst.Seconds) + ": "
		}
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: worst.Entity(), Confidence: worst.Confidence(), ConfidenceWhy: worst.Why, Since: worst.Since(p),
		Title: fmt.Sprintf("kubelet: %s%s for one lock (%s)%s", stall.Goroutines(stall.Count(list)), verb, stall.LockOwner(worst.Wait), worst.HowLong()),
		Detail: fmt.Sprintf("%s%s for the lock %s. Waiting: %s. %s.", stall.Goroutines(stall.Count(list)), verb, lockName(worst.Wait), stall.Askers(list),
			findings.Capital(longest+worst.Sentence(p))),
	}
	if worst.Goroutine.ID == 0 {
		f.Subject = forensics.Entity{Kind: forensics.KindSubsystem, ID: goroutines.RoleOf(worst.Goroutine).ID}
	}
	f.Effect = fmt.Sprintf("%s%s for one lock", stall.Goroutines(stall.Count(list)), verb)
	if statusIsStale(list) {
		f.Title += "; node status is stale"
	}
	if h := worst.Holder; h != nil {
		f.Because = []forensics.Entity{h.Stack.Entity()}
		f.Confidence = forensics.Likely
		f.ConfidenceWhy += "; that " + h.Stack.Label() + " has the lock is an inference: " + h.Why
		f.Refs = append(f.Refs, h.Stack.Ref())
	} else {
		f.Detail += " The dump does not show which goroutine has the lock: no other one is blocked in the object that contains it."
	}
	for _, t := range list[:min(len(list), findings.MaxQuoted)] {
		f.Refs = append(f.Refs, t.Ref())
	}
	f.Remedies = []forensics.Remedy{remedy.KeepEvidence()}
	return f
}

// statusIsStale says whether the goroutine that updates the node status is among those that provably wait.
func statusIsStale(list []stall.Goroutine) bool {
	return slices.ContainsFunc(list, func(t stall.Goroutine) bool {
		return t.Seconds >= stall.StuckAfter && stall.HasFrame(t.Goroutine, "kubelet.(*Kubelet).syncNodeStatus")
	})
}

// lockName is "0xc000a53128 in kubelet.(*podWorkers).UpdatePod".
func lockName(w stall.Wait) string {
	if w.Lock == 0 {
		return "in " + stall.ShortSymbol(w.Call)
	}
	return fmt.Sprintf("0x%x in %s", w.Lock, stall.ShortSymbol(w.Call))
}
