package checks

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// finding makes one finding of goroutines that stand still; the first of them is the worst and gives the title. What
// is what does not happen: "housekeeping has not returned".
func finding(p *forensics.Pass, subject forensics.Entity, what string, list []standing, sites []site) forensics.Finding {
	worst := list[0]
	f := forensics.Finding{
		Severity: worst.severity(), Subject: subject, Confidence: worst.confidence(), ConfidenceWhy: worst.why,
		Since: worst.since(p),
	}
	f.Title = p.Model.KubeletName() + " " + what + worst.howLong() + ": " + worst.sentence(p)
	f.Detail = worst.explain(sites)
	pods := []string{}
	for i, t := range list {
		if len(f.Because) < maxBecause {
			f.Because = union(f.Because, t.because(p))
		}
		pods = append(pods, t.pods(p)...)
		if i < maxQuoted {
			f.Refs = append(f.Refs, t.refs(p)...)
		}
		if i > 0 && i < maxQuoted {
			f.Detail = sentences(f.Detail, "Also, "+t.sentence(p)+".")
		}
	}
	f.Pods = union(nil, pods)
	if more := total(list) - total(list[:min(len(list), maxQuoted)]); more > 0 {
		f.Detail = sentences(f.Detail, fmt.Sprintf("And %d more goroutines.", more))
	}
	if worst.wait.kind == waitLock && worst.holder != nil {
		f.ConfidenceWhy += "; that " + worst.holder.stack.label() + " holds the lock is inferred: " + worst.holder.why
	}
	return f
}

// maxBecause is how many goroutines one finding blames.
const maxBecause = 16

// howLong is " for at least 10 min" by a dump's stamp, and " for 12 min" by a thread's last run. A goroutine whose age
// nothing proves only seems to stand still.
func (t standing) howLong() string {
	switch {
	case t.seconds == 0:
		return ", it seems"
	case t.seconds == t.goroutine.WaitAtLeast().Seconds():
		return " for at least " + text.Duration(t.seconds)
	}
	return " for " + text.Duration(t.seconds)
}

// since is the moment from which on it stands still at the latest.
func (t *standing) since(p *forensics.Pass) *time.Time {
	if t.thread != nil {
		return threadSince(p, *t.thread, t.seconds)
	}
	return since(p, t.seconds)
}

func (t standing) pods(p *forensics.Pass) []string {
	if t.thread == nil {
		return nil
	}
	if uid, _ := p.Model.PodOf(t.thread.Path); uid != "" {
		return []string{uid}
	}
	return nil
}

// refs quote the goroutine, its thread, and who holds its lock.
func (t standing) refs(p *forensics.Pass) []forensics.Ref {
	refs := []forensics.Ref{t.ref()}
	if t.thread != nil {
		refs = append(refs, threadRef(*t.thread))
	}
	if t.holder != nil {
		refs = append(refs, t.holder.stack.ref())
	}
	if process, ok := p.Model.Process(t.wait.pid); t.wait.pid != 0 && ok {
		refs = append(refs, forensics.Ref{
			Source:  fmt.Sprintf("%s:%d", forensics.SourceProcesses, process.PID),
			Excerpt: fmt.Sprintf("%d (%s) state %s: %s", process.PID, process.Comm, process.State, strings.Join(process.Command, " ")),
		})
	}
	return refs
}

// explain names the places of the list that are on the stack, outermost first: what is done there, and which kubelets do
// it. The finding rests on these frames.
func (t standing) explain(sites []site) string {
	type place struct {
		depth int
		text  string
	}
	var places []place
	for _, s := range sites {
		if i := frameIndex(t.goroutine, s.frame); i >= 0 {
			places = append(places, place{i, fmt.Sprintf("%s %s (kubelet %s)", s.frame, s.what, s.versions)})
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

// site is a place in the kubelet's code where a goroutine can stand still.
type site struct {
	// frame is a function on the stack, versions are the kubelets that have it, what is what it does there.
	frame, versions, what string
}

// docOf lists the places for a check's documentation.
func docOf(sites []site) string {
	var b strings.Builder
	for _, s := range sites {
		fmt.Fprintf(&b, "\n- %s %s (%s)", s.frame, s.what, s.versions)
	}
	return b.String()
}

// questions lists the calls, each once.
func questions(list []standing) string {
	var calls []string
	for _, t := range list {
		calls = union(calls, []string{t.wait.call})
	}
	return strings.Join(calls, ", ")
}

// askers lists the roles of those who wait, each once.
func askers(list []standing) string {
	var roles []string
	for _, t := range list {
		roles = union(roles, []string{goroutines.RoleOf(t.goroutine).Name})
	}
	return strings.Join(roles, ", ")
}
