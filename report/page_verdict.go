package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// verdictView is one root cause: headline, affected pods, fix, and the chain with its evidence.
type verdictView struct {
	Number   int
	Mark     mark
	Title    shown
	Since    *when
	Pods     []podView
	PodsRest []podView // folded
	PodsMore int       // all after Pods
	PodsCut  int       // after PodsRest
	Sure     shown
	SureWhy  shown
	Story    shown
	Plain    shown
	Markdown shown
	Chain    []chainStep
	Picture  *picture
	Steps    []stepView // the first ones, at least one of them a command if there is one
	Further  []stepView // folded
	Unsafe   []advice
	Open     bool // the chain is unfolded
}

// FurtherStart is the number of the first folded step.
func (v verdictView) FurtherStart() int { return len(v.Steps) + 1 }

type podView struct {
	Name  link
	UID   shown
	State mark
}

type chainStep struct {
	Edge     string // what the step before does to this one
	Text     shown
	Sure     shown
	Evidence string
	Finding  string
}

type stepView struct {
	ID     string
	Do     shown
	Prose  bool
	Why    shown
	OnlyIf shown
	Risk   shown
}

// briefVerdict is a root cause after the first ones: its headline.
type briefVerdict struct {
	Number int
	Mark   mark
	Title  shown
}

// maxVerdicts is how many root causes have a card. The others have one line, and their steps are with their findings.
const maxVerdicts = 8

const (
	maxFirstPods  = 6 // affected pods that are not folded
	maxFirstSteps = 2 // steps that are not folded
)

// addVerdicts shows root causes, worst first, as many as there is room for.
func (p *page) addVerdicts(r Report, names podBook, places *places) {
	if len(r.Diagnoses) == 0 {
		c := newCalm(r)
		p.Calm = &c
	}
	room := budget(budgetVerdicts)
	for i, d := range r.Diagnoses {
		if len(p.Brief) == 0 && i < maxVerdicts {
			if v := newVerdict(i, d, r, names, places); room.fits(v, 6000) {
				p.Verdicts = append(p.Verdicts, v)
				continue
			}
			room = budgetVerdicts / 4 // the headlines have their own budget
		}
		b := briefVerdict{i + 1, mark{severityTone(d.Severity), cell(string(d.Severity), 60)}, cell(d.Title, maxLine)}
		if !room.fits(b, 120) {
			p.More = len(r.Diagnoses) - i
			break
		}
		p.Brief = append(p.Brief, b)
	}
	for _, groups := range [][]findingGroup{p.Findings.Groups, p.Findings.Folded} {
		for i := range groups {
			if groups[i].Number > len(p.Verdicts)+len(p.Brief) {
				groups[i].Href = "" // no link to what is not on the page
			}
		}
	}
}

func newVerdict(i int, d forensics.Diagnosis, r Report, names podBook, places *places) verdictView {
	v := verdictView{
		Number: i + 1, Mark: mark{severityTone(d.Severity), cell(string(d.Severity), 60)},
		Title: cell(d.Title, maxLine), Since: newMoment(d.Since),
		Sure: cell(string(d.Confidence), 60), SureWhy: cell(strings.TrimSuffix(capital(d.ConfidenceWhy), "."), maxLine),
		Story:    cell(d.Paragraph, maxExcerpt),
		Plain:    ticketText(Plain(d)),
		Markdown: ticketText(markdown(d)),
		Chain:    newChain(d, places),
		Picture:  newPicture(d, r, names, i+1),
		Unsafe:   newAdvice(r, d),
		Open:     i == 0,
	}
	steps := newSteps("step-"+strconv.Itoa(i+1), d.Remedies)
	first := firstSteps(steps)
	v.Steps, v.Further = steps[:first], steps[first:]
	for n, a := range d.Pods[:min(len(d.Pods), maxNamedPods)] {
		pod := podView{Name: link{cell(names.name(a.UID), maxCell), places.hrefOf(forensics.KindPod, a.UID)}, State: podState(a.State)}
		if string(pod.Name.Text) != a.UID {
			pod.UID = cell(a.UID, maxCell)
		}
		if n < maxFirstPods {
			v.Pods = append(v.Pods, pod)
		} else {
			v.PodsRest = append(v.PodsRest, pod)
		}
	}
	v.PodsMore = len(d.Pods) - len(v.Pods)
	v.PodsCut = v.PodsMore - len(v.PodsRest)
	return v
}

// firstSteps is how many steps are not folded: two, or more until one of them is a command.
func firstSteps(steps []stepView) int {
	command := slices.IndexFunc(steps, func(s stepView) bool { return !s.Prose })
	return min(len(steps), max(maxFirstSteps, command+1))
}

func podState(state forensics.PodState) mark {
	switch state {
	case forensics.PodLive:
		return mark{toneQuiet, "live"}
	case forensics.PodTerminating:
		return mark{toneWarn, "Terminating"}
	case forensics.PodOrphaned:
		return mark{toneWarn, "orphaned"}
	case forensics.PodLikelyOrphaned, forensics.PodPossiblyOrphaned:
		return mark{toneQuiet, shown(state.Words())}
	}
	return mark{toneQuiet, cell(string(cmp.Or(state, forensics.PodUnknown)), maxCell)}
}

func newChain(d forensics.Diagnosis, places *places) []chainStep {
	const most = 24
	var steps []chainStep
	for i, l := range d.Chain[:min(len(d.Chain), most)] {
		e := forensics.Entity{Kind: l.Kind, ID: l.ID}
		step := chainStep{
			Text: cell(l.Text, maxLine), Sure: cell(string(l.Confidence), 60),
			Evidence: places.href(e), Finding: places.findingHref(e),
		}
		if i > 0 {
			step.Edge = linkWords(d.Chain[i-1], l)
		}
		steps = append(steps, step)
	}
	return steps
}

func newSteps(id string, remedies []forensics.Remedy) []stepView {
	const most = 20
	var steps []stepView
	for i, r := range remedies[:min(len(remedies), most)] {
		do, prose := stepText(r)
		steps = append(steps, stepView{
			ID: fmt.Sprintf("%s-%d", id, i+1), Do: shown(do), Prose: prose,
			Why: cell(capital(r.Why), maxLine), OnlyIf: cell(capital(r.OnlyIf), maxLine), Risk: cell(capital(r.Risk), maxLine),
		})
	}
	return steps
}

// ticketText is complete or left out: a command without its middle is a different command.
func ticketText(s string) shown {
	if len(s) > maxTicket {
		return shown("The text is longer than " + grouped(maxTicket) + " bytes. nodeforensics render writes it from the JSON report.")
	}
	return shown(s)
}

// RootCauses counts them, shown or not.
func (p *page) RootCauses() int { return len(p.Verdicts) + len(p.Brief) + p.More }
