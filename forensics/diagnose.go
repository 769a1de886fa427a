package forensics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/headline"
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
		return cmp.Or(cmp.Compare(b.Severity.Rank(), a.Severity.Rank()), cmp.Compare(g.depth(b), g.depth(a)), cmp.Compare(len(b.Chain), len(a.Chain)),
			cmp.Compare(len(b.Findings), len(a.Findings)), compareEntities(a.Root, b.Root))
	})
	return diagnoses
}

// depth is how much of a node stands on the root of a diagnosis: of troubles that nothing links, the deeper one is more often the cause of the
// other. What the kernel does to a pod is deep, a thread that only may be blocked is not.
func (g *graph) depth(d Diagnosis) int {
	switch d.Root.Kind {
	case KindThread:
		if d.Confidence == Possible {
			return 0
		}
	case KindPod, KindContainer, KindVolume, KindClaim:
		switch id := g.findings[d.Findings[0]].ID; {
		case id == "pod-orphaned", id == "volume-unmount-failing": // what is left of a pod stops no other
			return -1
		case !strings.HasPrefix(id, "kernel-"):
			return 0
		}
	case KindSubsystem:
		if g.findings[d.Findings[0]].ID == "kubelet-state-invalid" { // by its own words, nothing else is why the kubelet does not start
			return 2
		}
		return 1
	case KindKubelet, KindRuntime, KindController, KindGoroutine, kindNode, kindCertificate:
		return 1
	}
	return 2
}

func (g *graph) diagnosis(root Entity, also []Entity, members []int) Diagnosis {
	chain := g.chain(root)
	head := g.headline(chain, members)
	pods := map[string]bool{}
	d := Diagnosis{
		Severity: head.Severity, Confidence: head.Confidence, ConfidenceWhy: head.ConfidenceWhy,
		Root: root, Chain: []Link{}, Pods: []AffectedPod{}, Findings: []int{}, Remedies: []Remedy{},
	}
	onChain := map[Entity]int{}
	for i, e := range chain {
		onChain[e] = i
		d.Chain = append(d.Chain, Link{Kind: e.Kind, ID: e.ID, Text: Describe(g.model, e), Confidence: g.confidence(e)})
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
		return cmp.Or(cmp.Compare(places[a], places[b]), cmp.Compare(explained(onChain, g.findings[b]), explained(onChain, g.findings[a])))
	})
	roots := append([]Entity{root}, also...)
	for _, i := range members {
		f := g.findings[i]
		d.Findings = append(d.Findings, i)
		if places[i] < len(chain) {
			d.Since = earlier(d.Since, f.Since)
			named := places[i] == 0 && f.Severity.Rank() > Info.Rank() // the title names the root
			if (named || f.Severity == d.Severity) && f.Confidence.rank() < d.Confidence.rank() {
				d.Confidence, d.ConfidenceWhy = f.Confidence, f.ConfidenceWhy
			}
		}
		d.addPods(g.model, pods, g.podsOf(i, roots))
	}
	d.Title = g.title(head, members, places, len(chain))
	if head.Subject.Kind == KindPod && len(head.Subjects) == 0 && len(d.Pods) == 1 {
		d.Title = head.Title // the pod is what people know, and its title names the culprit
	}
	d.Remedies = g.remedies(head, members)
	d.Paragraph = g.paragraph(d, head)
	return d
}

// explained is 1 for a finding that names the cause on the chain of what it is about: of several about one thing it says most.
func explained(chain map[Entity]int, f Finding) int {
	for _, cause := range f.Because {
		if _, ok := chain[cause]; ok {
			return 1
		}
	}
	return 0
}

// maxNamed is how many things a sentence lists.
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

// position is the first place on the chain that a finding is about; behind the end where there is none.
func position(chain map[Entity]int, f Finding) int {
	first := len(chain)
	for _, e := range f.About() {
		if i, ok := chain[e]; ok {
			first = min(first, i)
		}
	}
	return first
}

// standsFor are the other subjects of a finding whose first subject is the root cause; nothing explains them either.
func (g *graph) standsFor(root Entity, members []int) []Entity {
	for _, i := range members {
		if list := g.leads[explanation{root, i}]; len(list) > 1 && len(g.effects[root]) == 0 {
			return sorting.Delete(slices.Clone(list), func(e Entity) bool { return e == root })
		}
	}
	return nil
}

// podsOf are the pods that a finding affects or is about. Of a finding about many pods it is those that these causes explain.
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
		others = sorting.Delete(slices.Clone(others), func(uid string) bool { return of[uid] })
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

// headline is the finding that gives a diagnosis its severity, confidence and first steps: of the worst the one farthest from the root,
// because that is what users notice.
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

// title is the headline of a diagnosis: the title of the finding about the root cause and, where the worst finding is another one, its
// effect. Where nothing was found about the root itself, or it is a thread or a goroutine, which are evidence rather than culprits, it is
// the title of the nearest of the worst findings. members are in the order of their places.
func (g *graph) title(worst Finding, members []int, places map[int]int, end int) string {
	cause := g.findings[members[0]]
	if isEvidence(cause.Subject.Kind) || places[members[0]] != 0 {
		cause = worst
		for _, i := range members {
			if f := g.findings[i]; places[i] < end && f.Severity == worst.Severity && !isEvidence(f.Subject.Kind) {
				cause = f
				break
			}
		}
		if cause.Effect != "" { // it is a consequence, and its title says so
			return cause.Title
		}
	}
	for _, i := range members {
		f := g.findings[i]
		if places[i] < end && f.Effect != "" && f.Severity == worst.Severity && f.Subject != cause.Subject {
			return headline.Fit(cause.Title + "; " + f.Effect)
		}
	}
	return cause.Title
}

func isEvidence(k Kind) bool { return k == KindThread || k == KindGoroutine }

// confidence is that of the findings about an entity, the lowest of several; "" where there is none.
func (g *graph) confidence(e Entity) (lowest Confidence) {
	for _, i := range g.subjects[e] {
		f := g.findings[i]
		if f.Severity.Rank() > Info.Rank() && (lowest == "" || f.Confidence.rank() < lowest.rank()) {
			lowest = f.Confidence
		}
	}
	return lowest
}

// remedies are the steps of the headline's finding, then those of the others from the root on.
func (g *graph) remedies(head Finding, members []int) []Remedy {
	all := slices.Clone(head.Remedies)
	for _, i := range members {
		all = append(all, g.findings[i].Remedies...)
	}
	return inOrder(all)
}

// paragraph is the whole diagnosis as plain text, the most urgent first.
func (g *graph) paragraph(d Diagnosis, head Finding) string {
	headline := d.Title
	if name := g.model.evidence.Node.Name; name != "" {
		headline = "Node " + name + ": " + headline
	}
	parts := []string{headline, "Affected pods: " + podList(d.Pods)}
	if len(d.Remedies) > 0 {
		parts = append(parts, "First step: "+d.Remedies[0].String(), "Reason: "+d.Remedies[0].Why)
	}
	if len(d.Chain) > 1 {
		var links []string
		for _, link := range d.Chain {
			links = append(links, link.Text)
		}
		parts = append(parts, "Cause chain: "+strings.Join(links, " → "))
	}
	confidence := "Confidence: " + string(d.Confidence)
	if d.ConfidenceWhy != "" {
		confidence += " (" + d.ConfidenceWhy + ")"
	}
	parts = append(parts, confidence)
	if head.Detail != "" {
		parts = append(parts, "Details: "+strings.TrimSpace(head.Detail))
	}
	for i, part := range parts {
		if !strings.HasSuffix(part, ".") && !strings.HasSuffix(part, "?") && !strings.HasSuffix(part, "…") {
			parts[i] += "."
		}
	}
	return strings.Join(parts, " ")
}

func podList(pods []AffectedPod) string {
	const most = 5
	if len(pods) == 0 {
		return "none identified"
	}
	var names []string
	for _, p := range pods[:min(len(pods), most)] {
		names = append(names, p.String()+", "+p.State.Words())
	}
	s := strings.Join(names, "; ")
	if len(pods) > most {
		s += "; and " + text.Plural(len(pods)-most, "more pod")
	}
	return s
}
