package report

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

type containersView struct {
	Runtimes   []runtimeRow
	Rows       []containerRow
	Total, Cut int
	Empty      shown // why there is no container
}

type runtimeRow struct {
	Anchor            string
	Name, Root, State shown
	Socket            shown
	Answer            mark
	Detail            shown
	Problems          []shown
}

type containerRow struct {
	Anchor  string
	Pod     link
	Name    shown
	ID      shown
	State   mark
	Init    link
	Waits   shown
	Image   shown
	Created *when
	Ended   shown
	From    shown
	Rank    int
}

func newContainersView(r Report, names podBook, places *places) containersView {
	v := containersView{
		Total: len(r.Evidence.Sandboxes) + len(r.Evidence.Containers),
		Empty: emptyWords(r, forensics.SourceRuntime, "No sandbox or container found in the files of the runtime."),
	}
	for i, rt := range r.Evidence.Runtimes {
		row := newRuntimeRow(i, rt)
		places.put(forensics.KindRuntime, rt.Name, row.Anchor)
		v.Runtimes = append(v.Runtimes, row)
	}
	list := taskList(r, names)
	room := budget(budgetContainers)
	for i, t := range list {
		row := t.row(i, names, places)
		if !room.fits(row, 320) {
			v.Cut = len(list) - i
			return v
		}
		places.put(forensics.KindContainer, t.id, row.Anchor)
		v.Rows = append(v.Rows, row)
	}
	return v
}

func newRuntimeRow(i int, rt runtimes.Runtime) runtimeRow {
	row := runtimeRow{
		Anchor: "runtime-" + strconv.Itoa(i+1), Name: cell(strings.TrimSpace(rt.Name+" "+rt.Version), 100), Root: cell(rt.Root, maxCell),
		State: cell(rt.State, maxCell), Socket: cell(rt.Socket, maxCell), Answer: mark{toneQuiet, "not probed"},
	}
	if a := rt.Answer; a != nil {
		row.Detail = cell(a.Detail, maxCell)
		switch a.Status {
		case "ok":
			row.Answer = mark{toneGood, "responding"}
		case "timeout":
			row.Answer = mark{toneBad, "not responding"}
		default:
			row.Answer = mark{toneQuiet, cell(a.Status, 40)}
		}
	}
	if rt.Assumed != "" {
		row.Problems = append(row.Problems, cell("Default directories: "+rt.Assumed, maxCell))
	}
	for _, p := range rt.Problems {
		row.Problems = append(row.Problems, cell(p, maxCell))
	}
	return row
}

// A taskRow is a sandbox or a container, before it is put into words.
type taskRow struct {
	id, pod, name, image string
	created              *when
	ended                string
	task                 runtimes.Task
	pid                  int // of the first process, where it is still there
	state                forensics.InitState
	waits                string
}

// taskList is ordered by state (blocked, running, ended) and then by pod.
func taskList(r Report, names podBook) []taskRow {
	var list []taskRow
	add := func(t taskRow) {
		p, state := names.model.Init(t.id, t.task)
		t.state, t.pid = state, p.PID
		for _, w := range names.model.WaitsOf(p.PID) {
			t.waits = forensics.DescribeWait(w, names.model.Waited(w))
			break
		}
		list = append(list, t)
	}
	for i := range r.Evidence.Sandboxes {
		s := &r.Evidence.Sandboxes[i]
		add(taskRow{id: s.ID, pod: s.PodUID, name: "sandbox", created: newWhen(s.Created, r.Evidence.Collected), task: s.Task})
	}
	for i := range r.Evidence.Containers {
		c := &r.Evidence.Containers[i]
		t := taskRow{id: c.ID, pod: c.PodUID, name: c.Name, image: c.Image, created: newWhen(c.Created, r.Evidence.Collected), task: c.Task}
		if c.Finished != nil {
			t.ended = "ended " + text.Moment(*c.Finished)
			if c.ExitCode != nil {
				t.ended += ", exit code " + strconv.Itoa(*c.ExitCode)
			}
		}
		add(t)
	}
	sorting.Stable(list, func(a, b taskRow) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(names.name(a.pod), names.name(b.pod)), cmp.Compare(b.name, a.name))
	})
	return list
}

func (t taskRow) rank() int {
	switch {
	case t.waits != "" || t.state == forensics.InitZombie:
		return 0
	case t.state == forensics.InitRunning:
		return 1
	case t.task.Removing || t.task.Dead:
		return 2
	}
	return 3
}

func (t taskRow) row(i int, names podBook, places *places) containerRow {
	row := containerRow{
		Anchor: "container-" + strconv.Itoa(i+1), Name: cell(t.name, 120), ID: cell(t.id, 80), State: initMark(t), Waits: cell(t.waits, maxCell),
		Image: cell(t.image, maxCell), Created: t.created, Ended: cell(t.ended, maxCell), From: cell(joinComma(t.task.From), 60), Rank: i,
	}
	if t.pod != "" {
		row.Pod = link{cell(names.name(t.pod), 120), places.hrefOf(forensics.KindPod, t.pod)}
	}
	if t.task.InitPID != 0 {
		pid := strconv.Itoa(t.task.InitPID)
		row.Init = link{Text: see("pid " + pid)}
		if t.pid != 0 {
			row.Init.Href = places.hrefOf(forensics.KindProcess, pid)
		}
	}
	return row
}

func initMark(t taskRow) mark {
	switch {
	case t.task.Dead:
		return mark{toneWarn, "removal failed"}
	case t.task.Removing:
		return mark{toneWarn, "being removed"}
	}
	switch t.state {
	case forensics.InitRunning:
		return mark{toneGood, "running"}
	case forensics.InitZombie:
		return mark{toneWarn, "zombie"}
	case forensics.InitGone:
		return mark{toneQuiet, "ended"}
	}
	if t.ended != "" || t.task.InitPID == 0 {
		return mark{toneQuiet, "not running"}
	}
	return mark{toneQuiet, "unknown"}
}
