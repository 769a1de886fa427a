package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// verdictView is one root cause: the sentence, the picture and the steps.
type verdictView struct {
	Number     int
	Mark       mark
	Title      shown
	Short      shown // the root in a few words, to stand above its picture, steps and findings
	Since      *when
	Root       link
	Pods       []podView
	PodsMore   int
	Sure       shown
	SureWhy    shown
	Story      shown
	Plain      shown
	Markdown   shown
	Chain      []chainStep
	Picture    *picture
	Steps      []stepView
	FindingsID string
}

type podView struct {
	Name  link
	UID   shown
	State mark
}

type chainStep struct {
	Edge     string // what the step before does to this one
	Name     shown
	Text     shown
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

// briefVerdict is a root cause past the first ones: its sentence.
type briefVerdict struct {
	Number int
	Mark   mark
	Title  shown
}

// maxVerdicts is how many root causes are told at length. The others get a sentence, and their steps stand with their
// findings.
const maxVerdicts = 8

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
			room = budgetVerdicts / 4 // the sentences have a room of their own
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
		Short: short(d), Root: places.link(d.Root), Sure: cell(string(d.Confidence), 60), SureWhy: cell(d.ConfidenceWhy, maxLine),
		Story:    cell(d.Paragraph, maxExcerpt),
		Plain:    ticketText(Plain(d)),
		Markdown: ticketText(Markdown(d)),
		Chain:    newChain(d, places),
		Picture:  newPicture(d, r, names, i+1),
		Steps:    newSteps("step-"+strconv.Itoa(i+1), d.Remedies),
	}
	for _, a := range d.Pods[:min(len(d.Pods), maxNamedPods)] {
		v.Pods = append(v.Pods, podView{
			Name:  link{cell(names.name(a.UID), maxCell), places.hrefOf(forensics.KindPod, a.UID)},
			UID:   cell(a.UID, maxCell),
			State: podState(a.State),
		})
	}
	v.PodsMore = len(d.Pods) - len(v.Pods)
	return v
}

func podState(state forensics.PodState) mark {
	switch state {
	case forensics.PodLive:
		return mark{toneQuiet, "live"}
	case forensics.PodTerminating, forensics.PodOrphaned:
		return mark{toneWarn, shown(state)}
	}
	return mark{toneQuiet, cell(string(cmp.Or(state, forensics.PodUnknown)), maxCell)}
}

func newChain(d forensics.Diagnosis, places *places) []chainStep {
	const most = 24
	var steps []chainStep
	for i, l := range d.Chain[:min(len(d.Chain), most)] {
		e := forensics.Entity{Kind: l.Kind, ID: l.ID}
		step := chainStep{
			Name: cell(entityWords(e), maxCell), Text: cell(l.Text, maxLine),
			Evidence: places.href(e), Finding: places.findingHref(e),
		}
		if i > 0 {
			step.Edge = edgeWords(d.Chain[i-1].Kind, l.Kind)
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

// ticketText is whole or not there: a command with its middle cut out is another command.
func ticketText(s string) shown {
	if len(s) > maxTicket {
		return shown("The text is longer than " + grouped(maxTicket) + " bytes: nodeforensics render writes it from the JSON report.")
	}
	return shown(s)
}

func short(d forensics.Diagnosis) shown {
	if len(d.Chain) > 0 && d.Chain[0].Text != "" {
		return cell(d.Chain[0].Text, maxCell)
	}
	return cell(entityWords(d.Root), maxCell)
}

// RootCauses counts them, shown or not.
func (p *page) RootCauses() int { return len(p.Verdicts) + len(p.Brief) + p.More }

// Pictures says whether any root cause has a picture.
func (p *page) Pictures() bool {
	return slices.ContainsFunc(p.Verdicts, func(v verdictView) bool { return v.Picture != nil })
}
