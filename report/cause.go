package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// causeTree is the picture: the chain as a spine, and further effects at each of its steps. A tree in this order has no
// crossing edges.
type causeTree []causeStep

type causeStep struct {
	causeBox
	Branches []causeBox
}

// causeBox is an entity, or several of one kind, with the word on the edge that leads to it.
type causeBox struct {
	Edge  string
	Kind  string
	Badge string // the role of the box: "root cause", "critical", …
	Text  string
	Tone  tone
}

const (
	maxSpine    = 12 // steps of the chain; a longer one loses its middle
	maxBranches = 5  // boxes beside one step
	maxTogether = 4  // names in a box of several entities
)

func newCauseTree(d forensics.Diagnosis, r Report, names podBook) causeTree {
	b := causeBuilder{d: d, r: r, names: names, at: map[forensics.Entity]int{}, worst: map[forensics.Entity]*forensics.Finding{}, steps: map[forensics.Entity]int{}}
	for _, f := range b.own() {
		for _, e := range f.About() {
			if w := b.worst[e]; w == nil || f.Severity.Rank() > w.Severity.Rank() {
				b.worst[e] = f
			}
		}
	}
	for i, l := range d.Chain {
		e := forensics.Entity{Kind: l.Kind, ID: l.ID}
		b.at[e] = i
		step := causeStep{causeBox: causeBox{Kind: kindWords(l.Kind), Text: string(cell(l.Text, maxLine)), Tone: toneQuiet}}
		if i > 0 {
			step.Edge = linkWords(d.Chain[i-1], l)
		}
		if f, ok := b.finding(e); ok {
			step.Tone, step.Badge = severityTone(f.Severity), string(cell(string(f.Severity), 60))
		}
		if i == 0 {
			step.Tone, step.Badge = severityTone(d.Severity), "root cause"
		}
		b.tree = append(b.tree, step)
	}
	if len(b.tree) > 0 {
		b.addFindings()
		b.addPods()
	}
	return shorten(b.tree)
}

type causeBuilder struct {
	d     forensics.Diagnosis
	r     Report
	names podBook
	at    map[forensics.Entity]int                // place on the spine
	worst map[forensics.Entity]*forensics.Finding // of the diagnosis, by subject
	steps map[forensics.Entity]int                // see stepFor
	tree  causeTree
}

// finding is the worst finding of the diagnosis about an entity.
func (b *causeBuilder) finding(e forensics.Entity) (worst *forensics.Finding, ok bool) {
	worst, ok = b.worst[e]
	return worst, ok
}

func (b *causeBuilder) own() []*forensics.Finding {
	var list []*forensics.Finding
	for _, i := range b.d.Findings {
		if i >= 0 && i < len(b.r.Findings) {
			list = append(list, &b.r.Findings[i])
		}
	}
	return list
}

// addFindings puts what is not on the chain beside the step that explains it, kind by kind.
func (b *causeBuilder) addFindings() {
	type key struct {
		step int
		kind forensics.Kind
	}
	together := map[key][]*forensics.Finding{}
	var order []key
	seen := map[forensics.Entity]bool{}
	for _, f := range b.own() {
		if b.onSpine(f) || seen[f.Subject] {
			continue
		}
		seen[f.Subject] = true
		k := key{b.stepFor(f), f.Subject.Kind}
		if together[k] == nil {
			order = append(order, k)
		}
		together[k] = append(together[k], f)
	}
	for _, k := range order {
		b.tree[k.step].Branches = append(b.tree[k.step].Branches, b.branch(b.d.Chain[k.step].Kind, together[k]))
	}
}

// onSpine says whether the spine shows what a finding is about: all of it, or the root, which names the others.
func (b *causeBuilder) onSpine(f *forensics.Finding) bool {
	rest := 0
	for _, e := range f.About() {
		switch i, on := b.at[e]; {
		case on && i == 0:
			return true
		case !on:
			rest++
		}
	}
	return rest == 0
}

// stepFor is the step of the chain that explains a finding, at once or through others; the root where none does.
func (b *causeBuilder) stepFor(f *forensics.Finding) int {
	step := 0
	for _, e := range f.Because {
		if i, ok := b.at[e]; ok {
			step = max(step, i)
		}
	}
	if step > 0 {
		return step
	}
	if known, ok := b.steps[f.Subject]; ok { // or its search has begun: a forged report can have cycles
		return known
	}
	b.steps[f.Subject] = 0
	for _, e := range f.Because {
		if g, ok := b.finding(e); ok {
			step = max(step, b.stepFor(g))
		}
	}
	b.steps[f.Subject] = step
	return step
}

func (b *causeBuilder) branch(cause forensics.Kind, findings []*forensics.Finding) causeBox {
	first := findings[0]
	box := causeBox{Edge: edgeWords(cause, first.Subject.Kind), Kind: kindWords(first.Subject.Kind), Tone: toneQuiet}
	for _, f := range findings {
		if t := severityTone(f.Severity); t.rank() < box.Tone.rank() {
			box.Tone, box.Badge = t, string(cell(string(f.Severity), 60))
		}
	}
	if len(findings) == 1 {
		box.Text = string(cell(first.Title, maxLine))
		return box
	}
	var subjects []string
	for _, f := range findings {
		for _, e := range f.About() {
			name := e.ID
			if e.Kind == forensics.KindPod {
				name = b.names.name(name)
			}
			subjects = append(subjects, name)
		}
	}
	box.Text = listing(subjects, kindWords(first.Subject.Kind))
	return box
}

// addPods puts the pods that no box names beside the last step of the kubelet, or the last step.
func (b *causeBuilder) addPods() {
	var pods []string
	for _, p := range b.d.Pods {
		e := forensics.Entity{Kind: forensics.KindPod, ID: p.UID}
		_, onSpine := b.at[e]
		if _, named := b.finding(e); !named && !onSpine {
			pods = append(pods, b.names.name(p.UID))
		}
	}
	if len(pods) == 0 {
		return
	}
	step := len(b.tree) - 1
	for i, l := range b.d.Chain {
		if l.Kind == forensics.KindKubelet || l.Kind == forensics.KindSubsystem {
			step = i
		}
	}
	b.tree[step].Branches = append(b.tree[step].Branches, causeBox{
		Edge: edgeWords(b.d.Chain[step].Kind, forensics.KindPod), Kind: "pod", Text: listing(pods, "pod"), Tone: toneQuiet,
	})
}

// listing is "3 pods: a, b and 1 more".
func listing(list []string, thing string) string {
	var parts []string
	for _, s := range list[:min(len(list), maxTogether)] {
		parts = append(parts, string(cell(s, 80)))
	}
	text := count(len(list), thing) + ": " + strings.Join(parts, ", ")
	if more := len(list) - maxTogether; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// shorten bounds the picture: the middle of a long chain and the branches after the limit are only counted.
func shorten(tree causeTree) causeTree {
	for i := range tree {
		if more := len(tree[i].Branches) - maxBranches; more > 0 {
			tree[i].Branches = append(tree[i].Branches[:maxBranches:maxBranches], causeBox{
				Edge: "leads to", Kind: "more", Text: count(more, "more group") + " of effects: see the findings", Tone: toneQuiet,
			})
		}
	}
	if more := len(tree) - maxSpine; more > 0 {
		gap := causeStep{causeBox: causeBox{Edge: "leads to", Kind: "more", Text: count(more+1, "step") + ": see the list", Tone: toneQuiet}}
		tree = slices.Concat(tree[:maxSpine/2], causeTree{gap}, tree[len(tree)-maxSpine/2+1:])
	}
	return tree
}
