package checks

import (
	"cmp"
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kubeletLockContention finds goroutines that wait long for one lock, and who most likely holds it.
var kubeletLockContention = forensics.Check{
	ID:    "kubelet-lock-contention",
	Title: "Goroutines wait for a lock",
	Doc: `Goroutines that have waited for a minute or more for one sync.Mutex or sync.RWMutex, told apart by the lock's
address in the arguments (sync.(*Mutex).Lock, lockSlow, RWMutex.RLock; states "sync.Mutex.Lock" and so on from Go 1.20 on,
"semacquire" before; all kubelets from 1.10 to 1.36), and where the runtime did not print that, by the method that
locks. Somebody holds it and does not let go: a lock in the kubelet is
held for microseconds.

Go does not record who holds a lock. The finding names who most likely does: a goroutine in a method of the object that
the lock lies in (by the receiver's address), which does not wait for this lock itself and stands still elsewhere; on
the Kubelet object, which has many methods and locks, only in the same method. That part is always an inference. Dumps
of the debug=0 and debug=1 forms have no addresses and are not judged.`,
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

// contended lists who waits for each lock, longest first; locks in the order of their number of waiters.
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
		if w.Kind != stall.WaitLock || s.Goroutine.ID == 0 && s.Goroutine.State == "" {
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
	verb := " waits"
	if stall.Count(list) > 1 {
		verb = " wait"
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: worst.Entity(), Confidence: worst.Confidence(), ConfidenceWhy: worst.Why, Since: worst.Since(p),
		Title:  fmt.Sprintf("%s of %s%s for one lock (%s)", text.Plural(stall.Count(list), "goroutine"), p.Model.KubeletName(), verb, lockName(worst.Wait)),
		Detail: "Who waits: " + stall.Askers(list) + ". " + findings.Capital(worst.Sentence(p)) + ".",
	}
	if worst.Known {
		f.Title += ", the first for " + text.Duration(worst.Seconds)
	}
	if h := worst.Holder; h != nil {
		f.Because = []forensics.Entity{h.Stack.Entity()}
		f.Title += "; " + h.Stack.Label() + " most likely holds it"
		f.Confidence = forensics.Likely
		f.ConfidenceWhy += "; that " + h.Stack.Label() + " holds the lock is inferred: " + h.Why
		f.Refs = append(f.Refs, h.Stack.Ref())
	} else {
		f.Detail += " Who holds it does not show: no other goroutine of the dump stands still in the object that the lock lies in."
	}
	for _, t := range list[:min(len(list), findings.MaxQuoted)] {
		f.Refs = append(f.Refs, t.Ref())
	}
	f.Remedies = []forensics.Remedy{remedy.KeepEvidence()}
	return f
}

// lockName is "0xc000a53128, in kubelet.(*podWorkers).UpdatePod".
func lockName(w stall.Wait) string {
	if w.Lock == 0 {
		return "in " + stall.ShortSymbol(w.Call)
	}
	return fmt.Sprintf("0x%x, in %s", w.Lock, stall.ShortSymbol(w.Call))
}
