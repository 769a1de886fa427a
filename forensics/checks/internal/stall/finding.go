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

// Finding makes one finding of goroutines that stand still; the first of them is the worst and gives the title. What
// is what does not happen: "housekeeping has not returned".
func Finding(p *forensics.Pass, subject forensics.Entity, what string, list []Goroutine, sites []Site) forensics.Finding {
	worst := list[0]
	f := forensics.Finding{
		Severity: worst.Severity(), Subject: subject, Confidence: worst.Confidence(), ConfidenceWhy: worst.Why,
		Since: worst.Since(p),
	}
	f.Title = p.Model.KubeletName() + " " + what + worst.HowLong() + ": " + worst.Sentence(p)
	f.Detail = worst.explain(sites)
	pods := []string{}
	for i, t := range list {
		if len(f.Because) < maxBecause {
			f.Because = findings.Union(f.Because, t.because(p))
		}
		pods = append(pods, t.pods()...)
		if i < findings.MaxQuoted {
			f.Refs = append(f.Refs, t.refs(p)...)
		}
		if i > 0 && i < findings.MaxQuoted {
			f.Detail = findings.Sentences(f.Detail, "Also, "+t.Sentence(p)+".")
		}
	}
	f.Pods = findings.Union(nil, pods)
	if more := Count(list) - Count(list[:min(len(list), findings.MaxQuoted)]); more > 0 {
		f.Detail = findings.Sentences(f.Detail, fmt.Sprintf("And %d more goroutines.", more))
	}
	if worst.Wait.Kind == WaitLock && worst.Holder != nil {
		f.ConfidenceWhy += "; that " + worst.Holder.Stack.Label() + " holds the lock is inferred: " + worst.Holder.Why
	}
	return f
}

// maxBecause is how many goroutines one finding blames.
const maxBecause = 16

// HowLong is " for at least 10 min" by a dump's stamp, and " for 12 min" by a thread's last run. A goroutine whose age
// nothing proves only seems to stand still.
func (t Goroutine) HowLong() string {
	switch {
	case !t.Known:
		return ", it seems"
	case t.Measured:
		return " for " + text.Duration(t.Seconds)
	}
	return " for at least " + text.Duration(t.Seconds)
}

// Since is the moment from which on it stands still at the latest.
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

// explain names the places of the list that are on the stack, outermost first: what is done there, and which kubelets do
// it. The finding rests on these frames.
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
	return "On the stack, outermost first: " + strings.Join(parts, "; ") + "."
}

// Site is a place in the kubelet's code where a goroutine can stand still.
type Site struct {
	// Frame is a function on the stack, Versions are the kubelets that have it, What is what it does there.
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

// Questions lists the calls, each once.
func Questions(list []Goroutine) string {
	var calls []string
	for _, t := range list {
		calls = findings.Union(calls, []string{t.Wait.question()})
	}
	return strings.Join(calls, ", ")
}

// Askers lists the roles of those who wait, each once.
func Askers(list []Goroutine) string {
	var roles []string
	for _, t := range list {
		roles = findings.Union(roles, []string{goroutines.RoleOf(t.Goroutine).Name})
	}
	return strings.Join(roles, ", ")
}
