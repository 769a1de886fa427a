package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// findingsView is all findings, each once: below the first root cause that it belongs to, or in a group of their own.
type findingsView struct {
	Total  int
	Cut    int // findings that had no room
	Groups []findingGroup
	Folded []findingGroup // of the root causes that have one line
	Kinds  []entityOption
}

type findingGroup struct {
	Number int // of the root cause; 0 is none
	Title  shown
	Href   string
	List   []findingView
}

type findingView struct {
	Anchor   string
	Severity string
	Mark     mark
	Check    shown
	Title    shown
	Subject  link
	Subjects *subjectsView
	Because  []link
	Detail   shown
	Since    *when
	Sure     shown
	SureWhy  shown
	Refs     []refView
	RefsMore int
	Pods     []link
	PodsMore int
	Steps    []stepView
	Entities string // numbers of entityOption, for the filter
}

// subjectsView is all subjects of a finding with more than one.
type subjectsView struct {
	Kinds shown // "50 pods"
	List  []link
	More  int // that are not listed
}

type refView struct {
	Source  shown
	Href    string
	Excerpt shown
	Long    bool
}

// entityOption is an entity that findings can be filtered by.
type entityOption struct {
	Number int
	Name   shown
}

func newFindingsView(r Report, names podBook, places *places) findingsView {
	b := findingsBuilder{r: r, names: names, places: places, room: budgetFindings, numbers: map[forensics.Entity]int{}}
	for i, f := range r.Findings {
		for _, e := range f.About() {
			if _, ok := places.findings[e]; !ok {
				places.findings[e] = i
			}
		}
	}
	v := findingsView{Total: len(r.Findings)}
	explained := make([]bool, len(r.Findings))
	for i, d := range r.Diagnoses {
		g := findingGroup{Number: i + 1, Title: cell(d.Title, maxLine), Href: fmt.Sprintf("#diagnosis-%d", i+1)}
		for _, index := range d.Findings {
			if index >= 0 && index < len(explained) && !explained[index] {
				explained[index] = true
				b.add(&g, index, i >= maxVerdicts)
			}
		}
		v.addGroup(g)
	}
	rest := findingGroup{Title: "Findings without a root cause"}
	for i := range explained {
		if !explained[i] {
			b.add(&rest, i, true)
		}
	}
	v.addGroup(rest)
	v.Cut, v.Kinds = b.cut, b.options
	for i := range r.Findings { // no link to what was cut
		if places.shownFindings[i] {
			continue
		}
		for _, e := range r.Findings[i].About() {
			if places.findings[e] == i {
				delete(places.findings, e)
			}
		}
	}
	return v
}

func (v *findingsView) addGroup(g findingGroup) {
	switch {
	case len(g.List) == 0:
	case g.Number > maxVerdicts:
		v.Folded = append(v.Folded, g)
	default:
		v.Groups = append(v.Groups, g)
	}
}

type findingsBuilder struct {
	r       Report
	names   podBook
	places  *places
	room    budget
	numbers map[forensics.Entity]int
	options []entityOption
	cut     int
}

// add shows a finding. Its steps are listed here only if no root cause lists them above.
func (b *findingsBuilder) add(g *findingGroup, index int, steps bool) {
	if b.room <= 0 { // what is shown is a beginning
		b.cut++
		return
	}
	f := b.r.Findings[index]
	v := findingView{
		Anchor: findingID(index, ""), Severity: severityWord(f.Severity), Mark: mark{severityTone(f.Severity), cell(string(f.Severity), 60)},
		Check: cell(f.ID, maxCell), Title: cell(f.Title, maxLine), Subject: b.places.link(f.Subject),
		Detail: block(f.Detail, maxExcerpt), Since: newMoment(f.Since),
		Sure: cell(string(f.Confidence), 60), SureWhy: cell(f.ConfidenceWhy, maxLine),
	}
	const most = 12
	for _, e := range f.Because[:min(len(f.Because), most)] {
		v.Because = append(v.Because, b.places.link(e))
	}
	for _, ref := range f.Refs[:min(len(f.Refs), most)] {
		v.Refs = append(v.Refs, b.ref(ref))
	}
	v.RefsMore = len(f.Refs) - len(v.Refs)
	pods := f.Pods
	if len(f.Subjects) > 0 {
		v.Subjects = b.subjects(f)
		pods = otherPods(f)
	}
	for _, uid := range pods[:min(len(pods), most)] {
		v.Pods = append(v.Pods, b.podLink(uid))
	}
	v.PodsMore = len(pods) - len(v.Pods)
	if steps {
		v.Steps = newSteps(v.Anchor+"-step", f.Remedies)
	}
	if !b.room.fits(v, 1500) {
		b.cut++
		return
	}
	v.Entities = b.entities(f)
	b.places.shownFindings[index] = true
	g.List = append(g.List, v)
}

func (b *findingsBuilder) podLink(uid string) link {
	return link{cell(b.names.name(uid), maxCell), b.places.hrefOf(forensics.KindPod, uid)}
}

// maxSubjects is how many subjects of a finding are listed; the JSON has all.
const maxSubjects = 200

func (b *findingsBuilder) subjects(f forensics.Finding) *subjectsView {
	v := subjectsView{Kinds: cell(count(len(f.Subjects), kindWords(f.Subject.Kind)), 100)}
	for _, e := range f.Subjects[:min(len(f.Subjects), maxSubjects)] {
		if e.Kind == forensics.KindPod {
			v.List = append(v.List, b.podLink(e.ID))
		} else {
			v.List = append(v.List, b.places.link(e))
		}
	}
	v.More = len(f.Subjects) - len(v.List)
	return &v
}

// otherPods are the affected pods that are not subjects.
func otherPods(f forensics.Finding) []string {
	about := map[forensics.Entity]bool{}
	for _, e := range f.Subjects {
		about[e] = true
	}
	return sorting.Delete(slices.Clone(f.Pods), func(uid string) bool { return about[forensics.Entity{Kind: forensics.KindPod, ID: uid}] })
}

func (b *findingsBuilder) ref(ref forensics.Ref) refView {
	text := block(ref.Excerpt, maxExcerpt)
	return refView{
		Source: cell(ref.Source, maxCell), Href: b.places.refHref(ref.Source), Excerpt: text,
		Long: strings.Count(string(text), "\n") > 8 || len(text) > 900,
	}
}

// entities numbers the entities of a finding. The filter has the first 200 of the page, and the first 20 subjects of a finding.
func (b *findingsBuilder) entities(f forensics.Finding) string {
	var numbers []string
	about := f.About()
	for _, e := range slices.Concat(about[:min(len(about), 20)], f.Because) {
		n, ok := b.numbers[e]
		if !ok && len(b.options) < 200 {
			n = len(b.options) + 1
			b.numbers[e] = n
			b.options = append(b.options, entityOption{n, cell(b.places.words(e), 100)})
		}
		if word := fmt.Sprint(n); n > 0 && !slices.Contains(numbers, word) {
			numbers = append(numbers, word)
		}
	}
	return strings.Join(numbers, " ")
}

// severityWord is a severity for the filter, "other" for an unknown one.
func severityWord(s forensics.Severity) string {
	if s.Rank() == 0 {
		return "other"
	}
	return string(s)
}
