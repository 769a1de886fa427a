package stall

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Finding makes one finding of blocked goroutines; the first of them is the worst and gives the title.
func Finding(p *forensics.Pass, subject forensics.Entity, h Headline, list []Goroutine, sites []Site) forensics.Finding {
	worst := list[0]
	f := forensics.Finding{
		Severity: worst.Severity(), Subject: subject, Confidence: worst.Confidence(), ConfidenceWhy: worst.Why,
		Since: worst.Since(p),
	}
	f.Title, f.Effect = h.title(p, &worst), h.effect()
	f.Detail = findings.Sentences(findings.Capital(worst.Sentence(p))+".", worst.explain(sites))
	pods := []string{}
	var alike []int64 // wait as the first one
	for i, t := range list {
		if len(f.Because) < maxBecause {
			f.Because = findings.Union(f.Because, t.because(p))
		}
		pods = append(pods, t.pods()...)
		if i < findings.MaxQuoted {
			f.Refs = append(f.Refs, t.refs(p)...)
		}
		switch {
		case i == 0 || i >= findings.MaxQuoted:
		case t.waitsLike(p, worst):
			alike = append(alike, t.Goroutine.ID)
		default:
			f.Detail = findings.Sentences(f.Detail, findings.Capital(t.Sentence(p))+".")
		}
	}
	f.Detail = findings.Sentences(f.Detail, sameWait(alike))
	f.Pods = findings.Union(nil, pods)
	if more := Count(list) - Count(list[:min(len(list), findings.MaxQuoted)]); more > 0 {
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("And %s more like these.", Number(more)))
	}
	if worst.Wait.Kind == WaitLock && worst.Holder != nil {
		f.ConfidenceWhy += "; that " + worst.Holder.Stack.Label() + " has the lock is an inference: " + worst.Holder.Why
	}
	return f
}

// maxBecause is how many goroutines one finding blames.
const maxBecause = 16

// HowLong is " for at least 10 min" by a dump's stamp, and " for 12 min" by a thread's last run. It is empty where nothing proves an age.
func (t Goroutine) HowLong() string {
	switch {
	case !t.Known:
		return ""
	case t.Measured:
		return " for " + text.Duration(t.Seconds)
	}
	return " for at least " + text.Duration(t.Seconds)
}

// Since is the latest moment at which it can have blocked.
func (t *Goroutine) Since(p *forensics.Pass) *time.Time {
	if t.Thread != nil {
		return ThreadSince(p, *t.Thread, t.Seconds)
	}
	return Since(p, t.Seconds)
}

func (t Goroutine) pods() []string {
	if t.Thread == nil {
		return nil
	}
	if uid, _ := forensics.PodOf(t.Thread.Path); uid != "" {
		return []string{uid}
	}
	return nil
}

// refs quote the goroutine, its thread, and who holds its lock.
func (t Goroutine) refs(p *forensics.Pass) []forensics.Ref {
	refs := []forensics.Ref{t.Ref()}
	if t.Thread != nil {
		refs = append(refs, ThreadRef(*t.Thread))
	}
	if t.Holder != nil {
		refs = append(refs, t.Holder.Stack.Ref())
	}
	if process, ok := p.Model.Process(t.Wait.PID); t.Wait.PID != 0 && ok {
		refs = append(refs, forensics.Ref{
			Source:  fmt.Sprintf("%s:%d", forensics.SourceProcesses, process.PID),
			Excerpt: fmt.Sprintf("%d (%s) state %s: %s", process.PID, process.Comm, process.State, strings.Join(process.Command, " ")),
		})
	}
	return refs
}

// explain lists the known functions on the stack, outermost first: what each does, and which kubelets have it. The finding rests on
// these frames.
func (t Goroutine) explain(sites []Site) string {
	type place struct {
		depth int
		text  string
	}
	var places []place
	for _, s := range sites {
		if i := frameIndex(t.Goroutine, s.Frame); i >= 0 {
			places = append(places, place{i, fmt.Sprintf("%s %s (kubelet %s)", s.Frame, s.What, s.Versions)})
		}
	}
	if len(places) == 0 {
		return ""
	}
	sorting.Stable(places, func(a, b place) int { return cmp.Compare(b.depth, a.depth) })
	var parts []string
	for _, p := range places {
		parts = append(parts, p.text)
	}
	return "Call stack, outermost first: " + strings.Join(parts, "; ") + "."
}

// Site is a function of the kubelet in which a goroutine can block.
type Site struct {
	// Frame is a function on the stack, Versions are the kubelets that have it, What is what it does.
	Frame, Versions, What string
}

// DocOf lists the places for a check's documentation.
func DocOf(sites []Site) string {
	var b strings.Builder
	for _, s := range sites {
		fmt.Fprintf(&b, "\n- %s %s (%s)", s.Frame, s.What, s.Versions)
	}
	return b.String()
}

// Questions lists the unanswered calls, each once.
func Questions(list []Goroutine) (calls []string) {
	for _, t := range list {
		calls = findings.Union(calls, []string{t.Wait.question()})
	}
	return calls
}

// FewQuestions lists the unanswered calls for a headline: "ListPodSandbox and 2 other calls".
func FewQuestions(list []Goroutine) string {
	switch calls := Questions(list); len(calls) {
	case 1, 2:
		return strings.Join(calls, " and ")
	default:
		return fmt.Sprintf("%s and %d other calls", calls[0], len(calls)-1)
	}
}

// Askers lists the roles of the goroutines, each once.
func Askers(list []Goroutine) string {
	var roles []string
	for _, t := range list {
		roles = findings.Union(roles, []string{goroutines.RoleOf(t.Goroutine).Name})
	}
	return strings.Join(roles, ", ")
}
