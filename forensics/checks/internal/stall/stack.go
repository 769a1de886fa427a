package stall

import (
	"fmt"
	"iter"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Stack is a goroutine of a dump, and its thread where that is known.
type Stack struct {
	Dump      int
	Of        *forensics.Dump
	Goroutine goroutines.Goroutine
	join      *forensics.Join
}

// Stacks lists the goroutines of the kubelet's dumps to judge, in the order of the dumps: of several dumps of one process only those of the last,
// so that a goroutine that has continued since the first does not count.
func Stacks(p *forensics.Pass) iter.Seq[Stack] { return stacksOf(p, p.Model.LatestDumps()) }

// Others lists the goroutines of other programs than the kubelet in the same way.
func Others(p *forensics.Pass) iter.Seq[Stack] { return stacksOf(p, p.Model.OtherDumps()) }

func stacksOf(p *forensics.Pass, dumps []int) iter.Seq[Stack] {
	return func(yield func(Stack) bool) {
		for _, i := range dumps {
			d := &p.Evidence.Dumps[i]
			for _, g := range d.Goroutines {
				if !yield(Stack{i, d, g, p.Model.ThreadOf(i, g.ID)}) {
					return
				}
			}
		}
	}
}

// stackOf is a goroutine by its place.
func stackOf(p *forensics.Pass, dump, i int) Stack {
	d := &p.Evidence.Dumps[dump]
	return Stack{dump, d, d.Goroutines[i], p.Model.ThreadOf(dump, d.Goroutines[i].ID)}
}

// HasFrame says whether one of the functions, or a closure of it, is on the stack. The parser has normalised the symbols.
func HasFrame(g goroutines.Goroutine, functions ...string) bool {
	for _, f := range functions {
		if frameIndex(g, f) >= 0 {
			return true
		}
	}
	return false
}

func frameIndex(g goroutines.Goroutine, function string) int {
	for i, f := range g.Frames {
		if isFunc(f.Func, function) {
			return i
		}
	}
	return -1
}

// isFunc compares a symbol with the end of a function's name ("kubelet.(*Kubelet).syncLoop"), a closure included.
func isFunc(symbol, function string) bool {
	i := strings.Index(symbol, function)
	if i < 0 || i > 0 && symbol[i-1] != '/' && symbol[i-1] != '.' {
		return false
	}
	rest := symbol[i+len(function):]
	return rest == "" || rest[0] == '.' || strings.HasPrefix(rest, "-fm")
}

// Entity is the goroutine as an entity.
func (s Stack) Entity() forensics.Entity { return forensics.GoroutineEntity(s.Of, s.Goroutine.ID) }

// thread is the thread that runs the goroutine, as of the second reading; nil where it is not known.
func (s Stack) thread(p *forensics.Pass) *procs.Thread {
	if s.join == nil {
		return nil
	}
	t, ok := p.Model.Thread(s.join.Thread.PID, s.join.Thread.TID)
	if !ok {
		return nil
	}
	return &t
}

// Blocked says for how long, at least, the goroutine has provably been blocked. Without a state (debug=0 and debug=1 forms) nothing is
// known.
func (s Stack) Blocked(p *forensics.Pass) forensics.WaitAtLeast {
	var w forensics.WaitAtLeast
	if t := s.thread(p); t != nil && !t.Gone {
		w = p.Model.Waited(*t)
	}
	if age := s.Goroutine.WaitAtLeast().Seconds(); age > w.Seconds {
		w = forensics.WaitAtLeast{Seconds: age, Known: true, From: dumpPrints(s.Goroutine)}
	}
	return w
}

// dumpPrints says what the minutes of a dump prove, see goroutines.Goroutine.WaitAtLeast.
func dumpPrints(g goroutines.Goroutine) string {
	s := "the dump shows " + text.Plural(g.WaitMinutes, "minute") + ", which "
	if age := g.WaitAtLeast().Seconds(); age > 0 {
		return s + "proves at least " + text.Duration(age)
	}
	return s + "can be up to 2 minutes too many"
}

// Label is "goroutine 117 (sync loop)".
func (s Stack) Label() string {
	g := s.Goroutine
	role := goroutines.RoleOf(g).Name
	if strings.Contains(s.Entity().ID, "/") {
		role = s.Of.Program + ", " + role
	}
	switch {
	case g.ID != 0:
		return fmt.Sprintf("goroutine %d (%s)", g.ID, role)
	case g.Count > 1:
		return fmt.Sprintf("%d goroutines (%s)", g.Count, role)
	}
	return "a goroutine (" + role + ")"
}

// Ref quotes the goroutine: its header and its frames.
func (s Stack) Ref() forensics.Ref {
	var b strings.Builder
	g := s.Goroutine
	fmt.Fprintf(&b, "goroutine %d", g.ID)
	if g.State != "" {
		fmt.Fprintf(&b, " [%s", g.State)
		if g.WaitMinutes > 0 {
			fmt.Fprintf(&b, ", %d minutes", g.WaitMinutes)
		}
		b.WriteString("]")
	}
	for _, f := range g.Frames {
		fmt.Fprintf(&b, "\n%s(%s)", f.Func, f.Args)
	}
	source := forensics.SourceGoroutines
	if strings.Contains(s.Entity().ID, "/") { // of another program than the kubelet
		source = forensics.SourceOtherGoroutines
	}
	return forensics.Ref{Source: fmt.Sprintf("%s:%s:goroutine %d", source, s.Of.Source, g.ID), Excerpt: b.String()}
}
