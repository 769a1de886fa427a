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
		found, from := g.rootsOf(f)
		for _, root := range found {
			if members[root] == nil {
				roots = append(roots, root)
			}
			members[root] = append(members[root], i)
			if len(f.Subjects) > 0 {
				g.leads[explanation{root, i}] = from[root]
			}
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
	beside := slices.Concat(also, g.standsFor(root, members))
	if len(beside) > 0 {
		d.Chain[0].Text += ", and " + text.Plural(len(beside), "other "+string(root.Kind)) + ": " + ids(beside, len(beside))
	}
	places := map[int]int{}
	for _, i := range members {
		places[i] = position(onChain, g.findings[i])
	}
	sorting.Stable(members, func(a, b int) int { // along the chain first, then in order
		return cmp.Compare(places[a], places[b])
	})
	roots := append([]Entity{root}, also...)
	for _, i := range members {
		f := g.findings[i]
		d.Findings = append(d.Findings, i)
		if places[i] < len(chain) {
			d.Since = earlier(d.Since, f.Since)
			if f.Severity == d.Severity && f.Confidence.rank() < d.Confidence.rank() {
				d.Confidence, d.ConfidenceWhy = f.Confidence, f.ConfidenceWhy
			}
		}
		d.addPods(g.model, pods, g.podsOf(i, roots))
	}
	d.Remedies = g.remedies(head, members)
	d.Paragraph = g.paragraph(d, head)
	return d
}

// maxNamed is how many things a sentence names.
const maxNamed = 5

// ids lists the first few of n entities.
func ids(list []Entity, n int) string {
	var names []string
	for _, e := range list[:min(len(list), maxNamed)] {
		names = append(names, e.ID)
	}
	if more := n - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// position is the first place on the chain of something that a finding is about; behind its end where nothing is.
func position(chain map[Entity]int, f Finding) int {
	first := len(chain)
	for _, e := range f.About() {
		if i, ok := chain[e]; ok {
			first = min(first, i)
		}
	}
	return first
}

// standsFor are the other things of a finding about many of which a root cause is the first, and which nothing explains either.
func (g *graph) standsFor(root Entity, members []int) []Entity {
	for _, i := range members {
		if list := g.leads[explanation{root, i}]; len(list) > 1 && len(g.effects[root]) == 0 {
			return slices.DeleteFunc(slices.Clone(list), func(e Entity) bool { return e == root })
		}
	}
	return nil
}

// podsOf are the pods that a finding affects or is about: of one about many pods those that these causes explain.
func (g *graph) podsOf(i int, roots []Entity) []string {
	f := g.findings[i]
	about, others := f.About(), f.Pods
	if len(f.Subjects) > 0 {
		about = nil
		for _, root := range roots {
			about = append(about, g.leads[explanation{root, i}]...)
		}
		of := map[string]bool{}
		for _, e := range f.Subjects {
			of[e.ID] = e.Kind == KindPod
		}
		others = slices.DeleteFunc(slices.Clone(others), func(uid string) bool { return of[uid] })
	}
	pods := slices.Clone(others)
	for _, e := range about {
		if e.Kind == KindPod {
			pods = append(pods, e.ID)
		}
	}
	return pods
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
	best, most, place := -1, 0, map[Entity]int{}
	for i, e := range chain {
		place[e] = i + 1
	}
	for _, i := range members {
		at := 0
		for _, e := range g.findings[i].About() {
			at = max(at, place[e])
		}
		worse := 1
		if best >= 0 {
			worse = cmp.Compare(g.findings[i].Severity.Rank(), g.findings[best].Severity.Rank())
		}
		if worse > 0 || worse == 0 && at > most {
			best, most = i, at
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
