package checks

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// standing is a goroutine that stands still, what it waits for, and on what that rests.
type standing struct {
	stack
	wait   wait
	thread *procs.Thread // nil where it is not known
	// seconds is how long it provably stands at least; from says how that is known.
	seconds float64
	from    string
	// proven says that it has stood for long enough to be called stuck: a minute by its own stamp (which then says 3), or
	// --hung-after by the kernel. Otherwise it is only likely.
	proven bool
	why    string
	// holder is who most likely holds the lock that it waits for.
	holder *holder
}

// stuckAfter is the age in seconds from which a goroutine that the dump alone shows counts as stuck.
const stuckAfter = 60

// standingStill judges one goroutine. It is false for one that rests, that has not provably stood long enough, or that
// went on before the second look.
func standingStill(p *forensics.Pass, s stack) (standing, bool) {
	t := standing{stack: s, wait: waitOf(s.goroutine), thread: s.thread(p)}
	if t.wait.kind == waitChild && t.wait.pid == 0 && t.wait.call != "output" {
		t.wait.pid, t.wait.inferred = onlyChild(p), true
	}
	if t.wait.kind == waitNothing || t.thread != nil && t.thread.Gone {
		return t, false
	}
	t.seconds, t.from = s.blocked(p)
	t.why = t.from
	stood := p.Model.Stood(s.dump, s.goroutine)
	if stood > t.seconds {
		t.seconds, t.from = stood, "two dumps show it in the same call"
	}
	switch {
	case t.seconds >= stuckAfter && stood < t.seconds, t.thread != nil && t.seconds >= hungAfter(p) && stood < t.seconds:
		t.proven = true
		if stood > 0 {
			t.why += fmt.Sprintf("; two dumps %s apart show it in the same call with the same arguments", text.Duration(stood))
		}
	case stood >= hungAfter(p):
		t.why = fmt.Sprintf("two dumps %s apart show it in the same call with the same arguments", text.Duration(stood))
	case s.goroutine.WaitMinutes > 0:
		t.why = dumpPrints(s.goroutine)
	case s.goroutine.State == "" && !t.wait.kind.endsByItself():
		t.why = "this form of dump has no durations, but this call is rarely seen under way"
	default:
		return t, false
	}
	if t.wait.kind == waitLock {
		if h, ok := holderOf(p, s, t.wait); ok {
			t.holder = &h
		}
	}
	return t, true
}

// allStanding lists the goroutines that stand still and have one of the functions on their stack, those that are proven
// and longest first.
func allStanding(p *forensics.Pass, functions ...string) []standing {
	var found []standing
	for s := range eachStack(p) {
		if !hasFrame(s.goroutine, functions...) {
			continue
		}
		if t, ok := standingStill(p, s); ok {
			found = append(found, t)
		}
	}
	sorting.Stable(found, compareStanding)
	return found
}

// total is how many goroutines they are: of a large dump some stand for others that are like them.
func total(list []standing) int {
	n := 0
	for _, t := range list {
		n += max(1, t.goroutine.Count)
	}
	return n
}

func compareStanding(a, b standing) int {
	if a.proven != b.proven {
		if a.proven {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.seconds, a.seconds)
}

// because names what is to blame: for a file system the goroutine, which leads to its thread and mount, and otherwise
// whom it waits for.
func (t standing) because(p *forensics.Pass) []forensics.Entity {
	switch t.wait.kind {
	case waitRuntime:
		return []forensics.Entity{p.Model.RuntimeEntity()}
	case waitPLEG:
		return []forensics.Entity{plegEntity}
	case waitCSI:
		if driver := onlyDriver(p); driver != "" {
			return []forensics.Entity{{Kind: forensics.KindCSIDriver, ID: driver}}
		}
	case waitChild:
		if t.wait.pid != 0 {
			return []forensics.Entity{{Kind: forensics.KindProcess, ID: strconv.Itoa(t.wait.pid)}}
		}
	case waitSystemd:
		if init, ok := p.Model.Process(1); ok && init.Comm == "systemd" {
			return []forensics.Entity{{Kind: forensics.KindProcess, ID: "1"}}
		}
	case waitLock:
		if t.holder != nil {
			return []forensics.Entity{t.holder.stack.entity()}
		}
	}
	switch {
	case t.goroutine.ID != 0:
		return []forensics.Entity{t.entity()}
	case t.wait.kind == waitFile:
		if w, ok := onlyWaiter(p); ok {
			return []forensics.Entity{forensics.ThreadEntity(w.thread)}
		}
	}
	return nil
}

// onlyChild is the kubelet's child, if it has exactly one: from Go 1.23 on a dump has a descriptor of the child in the
// place of its pid.
func onlyChild(p *forensics.Pass) int {
	k := p.Evidence.Kubelet
	if k == nil || k.PID == 0 {
		return 0
	}
	return forensics.Once(p, "the kubelet's only child", func() int {
		child := 0
		for _, process := range p.Evidence.Processes {
			if process.PPID != k.PID {
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

// onlyDriver is the CSI driver of this node's volumes, if they have a single one.
func onlyDriver(p *forensics.Pass) string {
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

// onlyWaiter is the kubelet's thread that waits for a file system, if there is exactly one: an aggregated dump has
// nothing to join it by.
func onlyWaiter(p *forensics.Pass) (waiter, bool) {
	found := forensics.Once(p, "the kubelet's waits", func() []waiter {
		var found []waiter
		for _, w := range waiters(p, "") {
			if k := p.Evidence.Kubelet; k != nil && k.PID != 0 && w.thread.PID == k.PID && w.seconds >= hungAfter(p) {
				found = append(found, w)
			}
		}
		return found
	})
	if len(found) != 1 {
		return waiter{}, false
	}
	return found[0], true
}
