package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// deletionsView is the deletions of pods, as logs show them.
type deletionsView struct {
	Stuck []deletionView
	Done  []fact
	Cut   int
}

type deletionView struct {
	Pod     link
	UID     shown
	Stages  []stageView
	Waits   shown
	Since   *when
	Grace   string
	Proven  bool
	Quotes  []quoteView
	Quoting string
}

// stageView is one stage in the picture.
type stageView struct {
	Name string
	Mark mark
	Took string // until the next stage, or since it is stuck here
	At   *when
	Here bool
}

// stageName is how a stage is called here.
type stageName struct {
	id   logs.Stage
	name string
}

// stages are those of [logs.Deletion], in order.
var stages = []stageName{
	{logs.StageRequested, "requested"},
	{logs.StageKilling, "killing"},
	{logs.StageContainers, "containers"},
	{logs.StageVolumes, "volumes"},
	{logs.StageCgroup, "cgroup"},
	{logs.StageStatus, "status"},
	{logs.StageAPI, "API object"},
	{logs.StageRemoved, "removed"},
}

// newDeletionsView is nil where logs show no deletion.
func newDeletionsView(r Report, names podBook, places *places) *deletionsView {
	s := r.Evidence.Logs
	if s == nil || len(s.Deletions) == 0 {
		return nil
	}
	v, room := &deletionsView{}, budget(budgetDeletions)
	for i, d := range s.Deletions {
		var ok bool
		switch {
		case d.Done:
			f := doneDeletion(d, names)
			if ok = room.fits(f, 60); ok {
				v.Done = append(v.Done, f)
			}
		default:
			view := newDeletionView(d, r, names, places)
			if ok = room.fits(view, 1500); ok {
				v.Stuck = append(v.Stuck, view)
			}
		}
		if !ok {
			v.Cut = len(s.Deletions) - i
			break
		}
	}
	return v
}

func podOf(d logs.Deletion, names podBook) string {
	return cmp.Or(d.PodName, names.name(d.PodUID), "unnamed pod")
}

func doneDeletion(d logs.Deletion, names podBook) fact {
	took := "deleted"
	if n := len(d.Steps); n > 1 {
		took += " in " + text.Duration(d.Steps[n-1].Time.Sub(d.Steps[0].Time).Seconds())
	}
	name := podOf(d, names)
	if d.PodUID != "" && name != d.PodUID {
		name += " (" + d.PodUID + ")"
	}
	return fact{cell(name, maxCell), shown(took)}
}

func newDeletionView(d logs.Deletion, r Report, names podBook, places *places) deletionView {
	v := deletionView{
		Pod: link{cell(podOf(d, names), maxCell), places.hrefOf(forensics.KindPod, d.PodUID)}, UID: cell(d.PodUID, 60),
		Waits: cell(d.Waits, maxLine), Since: newWhen(d.Since, r.Evidence.Collected), Proven: d.Proven, Quotes: newQuotes(d.Complaints, 4),
		Quoting: repeats(len(d.Complaints)),
	}
	if d.GraceSeconds != nil {
		v.Grace = strconv.FormatInt(*d.GraceSeconds, 10) + " s"
	}
	here := slices.IndexFunc(stages, func(s stageName) bool { return s.id == d.Stage })
	for i, s := range stages {
		v.Stages = append(v.Stages, newStage(d, s.id, s.name, i < here, i == here, r))
	}
	return v
}

func repeats(n int) string {
	if n == 1 {
		return "1 repeated line"
	}
	return count(n, "repeated line")
}

func newStage(d logs.Deletion, id logs.Stage, name string, before, here bool, r Report) stageView {
	v := stageView{Name: name, Here: here, Mark: mark{toneQuiet, "not reached"}}
	at := slices.IndexFunc(d.Steps, func(s logs.Step) bool { return s.Stage == id })
	if at >= 0 {
		v.At = newWhen(&d.Steps[at].Time, r.Evidence.Collected)
		if at+1 < len(d.Steps) {
			v.Took = text.Duration(d.Steps[at+1].Time.Sub(d.Steps[at].Time).Seconds())
		}
	}
	switch {
	case v.Here:
		v.Mark = mark{toneWarn, "stuck here"}
		if d.Proven {
			v.Mark.Tone = toneBad
		}
		if d.Since != nil {
			v.Took = age(*d.Since, r.Evidence.Collected)
		}
	case at >= 0:
		v.Mark = mark{toneGood, "done"}
	case before:
		v.Mark = mark{toneQuiet, "not logged"}
	}
	return v
}
