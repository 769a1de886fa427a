package forensics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// diagnose groups the findings that are worse than info by their root cause.
func diagnose(m *Model, findings []Finding) []Diagnosis {
	g := newGraph(m, findings)
	members := map[Entity][]int{}
	var roots []Entity
	for i, f := range findings {
		if f.Severity.Rank() <= Info.Rank() {
			continue
		}
		for _, root := range g.rootsOf(f) {
			if members[root] == nil {
				roots = append(roots, root)
			}
			members[root] = append(members[root], i)
		}
	}
	diagnoses := []Diagnosis{}
	others := together(roots, members)
	for _, root := range roots {
		if also, first := others[root]; first {
			diagnoses = append(diagnoses, g.diagnosis(root, also, members[root]))
		}
	}
	sorting.Stable(diagnoses, func(a, b Diagnosis) int {
		return cmp.Or(cmp.Compare(b.Severity.Rank(), a.Severity.Rank()), cmp.Compare(len(b.Chain), len(a.Chain)),
			cmp.Compare(len(b.Findings), len(a.Findings)), compareEntities(a.Root, b.Root))
	})
	return diagnoses
}

func (g *graph) diagnosis(root Entity, also []Entity, members []int) Diagnosis {
	chain := g.chain(root)
	head := g.headline(chain, members)
	pods := map[string]bool{}
	d := Diagnosis{
		Severity: head.Severity, Confidence: head.Confidence, ConfidenceWhy: head.ConfidenceWhy,
		Title: head.Title, Root: root, Chain: []Link{}, Pods: []AffectedPod{}, Findings: []int{}, Remedies: []Remedy{},
	}
	onChain := map[Entity]int{}
	for i, e := range chain {
		onChain[e] = i
		d.Chain = append(d.Chain, Link{e.Kind, e.ID, Describe(g.model, e)})
	}
	if len(also) > 0 {
		d.Chain[0].Text += ", and " + text.Plural(len(also), "other "+string(root.Kind)) + ": " + ids(also)
	}
	sorting.Stable(members, func(a, b int) int { // along the chain first, then in order
		return cmp.Compare(position(onChain, g.findings[a].Subject), position(onChain, g.findings[b].Subject))
	})
	for _, i := range members {
		f := g.findings[i]
		d.Findings = append(d.Findings, i)
		if _, on := onChain[f.Subject]; on {
			d.Since = earlier(d.Since, f.Since)
			if f.Severity == d.Severity && f.Confidence.rank() < d.Confidence.rank() {
				d.Confidence, d.ConfidenceWhy = f.Confidence, f.ConfidenceWhy
			}
		}
		d.addPods(g.model, pods, f.Pods)
		for _, e := range f.About() {
			if e.Kind == KindPod {
				d.addPods(g.model, pods, []string{e.ID})
			}
		}
	}
	d.Remedies = g.remedies(head, members)
	d.Paragraph = g.paragraph(d, head)
	return d
}

// ids lists the first few of entities.
func ids(list []Entity) string {
	const most = 5
	var names []string
	for _, e := range list[:min(len(list), most)] {
		names = append(names, e.ID)
	}
	if more := len(list) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func position(chain map[Entity]int, e Entity) int {
	if i, ok := chain[e]; ok {
		return i
	}
	return len(chain)
}

func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

func (d *Diagnosis) addPods(m *Model, listed map[string]bool, uids []string) {
	for _, uid := range uids {
		if !listed[uid] {
			listed[uid] = true
			d.Pods = append(d.Pods, m.Pod(uid))
		}
	}
}

// headline is the finding that gives the diagnosis its title: of the worst the one farthest from the root, since that
// is what people complain about, and its title names the cause.
func (g *graph) headline(chain []Entity, members []int) Finding {
	best, place := members[0], map[Entity]int{}
	for i, e := range chain {
		place[e] = i + 1
	}
	at := func(i int) int { return place[g.findings[i].Subject] }
	for _, i := range members[1:] {
		a, b := g.findings[i], g.findings[best]
		if c := cmp.Compare(a.Severity.Rank(), b.Severity.Rank()); c > 0 || c == 0 && at(i) > at(best) {
			best = i
		}
	}
	return g.findings[best]
}

// remedies are the headline's steps, then those of the others from the root on.
func (g *graph) remedies(head Finding, members []int) []Remedy {
	all := slices.Clone(head.Remedies)
	for _, i := range members {
		all = append(all, g.findings[i].Remedies...)
	}
	return inOrder(all)
}

// paragraph tells the whole story in one piece.
func (g *graph) paragraph(d Diagnosis, head Finding) string {
	var b strings.Builder
	if name := g.model.evidence.Node.Name; name != "" {
		b.WriteString("Node " + name + ": ")
	}
	b.WriteString(strings.TrimSuffix(d.Title, ".") + ". ")
	if head.Detail != "" {
		b.WriteString(strings.TrimSpace(head.Detail) + " ")
	}
	if len(d.Chain) > 1 {
		b.WriteString("Cause chain: ")
		for i, link := range d.Chain {
			if i > 0 {
				b.WriteString(" → ")
			}
			b.WriteString(link.Text)
		}
		b.WriteString(". ")
	}
	if len(d.Pods) > 0 {
		b.WriteString("Pods affected: " + podList(d.Pods) + ". ")
	}
	b.WriteString("Confidence: " + string(d.Confidence))
	if d.ConfidenceWhy != "" {
		b.WriteString(" (" + d.ConfidenceWhy + ")")
	}
	b.WriteString(".")
	if len(d.Remedies) > 0 {
		b.WriteString(" First step: " + d.Remedies[0].String() + " — " + d.Remedies[0].Why)
	}
	return b.String()
}

func podList(pods []AffectedPod) string {
	const most = 5
	var names []string
	for _, p := range pods[:min(len(pods), most)] {
		names = append(names, p.String()+", "+string(p.State))
	}
	s := strings.Join(names, "; ")
	if len(pods) > most {
		s += "; and " + text.Plural(len(pods)-most, "more pod")
	}
	return s
}
