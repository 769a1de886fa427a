package checks

import (
	"fmt"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// ThreadBlocked finds threads that wait in a file system.
var ThreadBlocked = forensics.Check{
	ID:    "thread-blocked",
	Title: "A thread waits in a file system",
	Doc: `A thread that provably has waited in a file system or for a disk longer than --hung-after, told by what the
kernel says it waits for (wchan, kernel stack), whatever its state letter: a wait for a FUSE server is state S. The
threads of one process that wait for the same thing are one finding, named after the one that waits longest. Throttling
by dirty pages is not a hang and is left out. The kernel's own complaint about the thread ("blocked for more than 120
seconds") is quoted where its log has it; it makes none about waits that a signal ends, as those for NFS and FUSE are.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceThreads}},
	Run: func(p *forensics.Pass) {
		type group struct {
			pid    int
			device string
			wait   procs.WaitKind
		}
		counts, first, order := map[group]int{}, map[group]waiter{}, []group{}
		for _, w := range waiters(p, "") {
			if w.seconds < hungAfter(p) || w.thread.Wait.Kind == procs.WaitWriteback {
				continue
			}
			g := group{w.thread.PID, w.thread.Device, w.thread.Wait.Kind}
			if counts[g]++; counts[g] == 1 {
				first[g] = w
				order = append(order, g)
			}
		}
		for _, g := range order {
			p.Report(blockedFinding(p, first[g], counts[g]))
		}
	},
}

func blockedFinding(p *forensics.Pass, w waiter, count int) forensics.Finding {
	t := w.thread
	who := fmt.Sprintf("thread %d/%d (%s)", t.PID, t.TID, t.Comm)
	if count > 1 {
		who = fmt.Sprintf("%d threads of process %d (%s)", count, t.PID, t.Comm)
	}
	verb := " has waited "
	if count > 1 {
		verb = " have waited "
	}
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.ThreadEntity(t),
		Because:       p.Model.Causes(forensics.ThreadEntity(t)),
		Title:         who + verb + forensics.Duration(w.seconds) + onWhat(t),
		ConfidenceWhy: w.from, Refs: []forensics.Ref{threadRef(t)}, Since: since(p, w.seconds),
	}
	f.Detail = strings.TrimSpace(fmt.Sprintf("It %s. %s", forensics.DescribeWait(t), t.Wait.Meaning))
	if j := p.Model.GoroutineOf(t.PID, t.TID); j != nil {
		f.Detail += fmt.Sprintf(" It runs goroutine %d.", j.Goroutine)
	}
	if process, ok := p.Model.Process(t.PID); ok && process.PodUID != "" {
		f.Pods = []string{process.PodUID}
	}
	return withHungTask(p, f, t)
}

func onWhat(t procs.Thread) string {
	switch {
	case t.Path != "":
		return " on " + t.Path
	case t.Wait.FS != "":
		return " in " + t.Wait.FS
	}
	return ""
}

// since is the moment at which a wait of so many seconds began at the latest.
func since(p *forensics.Pass, seconds float64) *time.Time {
	if p.Evidence.Collected.IsZero() || seconds <= 0 {
		return nil
	}
	t := p.Evidence.Collected.Add(-time.Duration(seconds * float64(time.Second))).UTC().Truncate(time.Second)
	return &t
}
