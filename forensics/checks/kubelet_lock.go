package checks

import (
	"cmp"
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// KubeletLockContention finds goroutines that wait long for one lock, and who most likely holds it.
var KubeletLockContention = forensics.Check{
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
func contended(p *forensics.Pass) [][]standing {
	type key struct {
		dump int
		lock uint64
		in   string // where the address is not known, the method that locks
	}
	byLock := map[key][]standing{}
	var order []key
	for s := range eachStack(p) {
		w := waitOf(s.goroutine)
		if w.kind != waitLock || s.goroutine.ID == 0 && s.goroutine.State == "" {
			continue
		}
		t := standing{stack: s, wait: w}
		t.seconds, t.from = s.blocked(p)
		k := key{s.dump, w.lock, ""}
		if w.lock == 0 {
			k.in = w.call
		}
		if byLock[k] == nil {
			order = append(order, k)
		}
		byLock[k] = append(byLock[k], t)
	}
	var found [][]standing
	for _, k := range order {
		list := byLock[k]
		sorting.Stable(list, func(a, b standing) int { return cmp.Compare(b.seconds, a.seconds) })
		if worst, ok := standingStill(p, list[0].stack); ok {
			list[0] = worst
			found = append(found, list)
		}
	}
	sorting.Stable(found, func(a, b []standing) int { return cmp.Compare(total(b), total(a)) })
	return found[:min(len(found), maxLocks)]
}

func lockFinding(p *forensics.Pass, list []standing) forensics.Finding {
	worst := list[0]
	verb := " waits"
	if total(list) > 1 {
		verb = " wait"
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: worst.entity(), Confidence: worst.confidence(), ConfidenceWhy: worst.why, Since: worst.since(p),
		Title:  fmt.Sprintf("%s of %s%s for one lock (%s)", text.Plural(total(list), "goroutine"), p.Model.KubeletName(), verb, lockName(worst.wait)),
		Detail: "Who waits: " + askers(list) + ". " + capital(worst.sentence(p)) + ".",
	}
	if worst.seconds > 0 {
		f.Title += ", the first for " + text.Duration(worst.seconds)
	}
	if h := worst.holder; h != nil {
		f.Because = []forensics.Entity{h.stack.entity()}
		f.Title += "; " + h.stack.label() + " most likely holds it"
		f.Confidence = forensics.Likely
		f.ConfidenceWhy += "; that " + h.stack.label() + " holds the lock is inferred: " + h.why
		f.Refs = append(f.Refs, h.stack.ref())
	} else {
		f.Detail += " Who holds it does not show: no other goroutine of the dump stands still in the object that the lock lies in."
	}
	for _, t := range list[:min(len(list), maxQuoted)] {
		f.Refs = append(f.Refs, t.ref())
	}
	f.Remedies = []forensics.Remedy{keepEvidence()}
	return f
}

// lockName is "0xc000a53128, in kubelet.(*podWorkers).UpdatePod".
func lockName(w wait) string {
	if w.lock == 0 {
		return "in " + shortSymbol(w.call)
	}
	return fmt.Sprintf("0x%x, in %s", w.lock, shortSymbol(w.call))
}
