package report

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

type processesView struct {
	Rows       []processRow
	Total, Cut int
	Kernel     int   // kernel threads, which are left out
	Empty      shown // why there is no process
}

type processRow struct {
	Anchor    string
	PID, PPID int
	Comm      shown
	State     shown
	Threads   int
	Command   shown
	Started   *when
	Pod       link
	Container shown
}

func newProcessesView(r Report, names podBook, places *places) processesView {
	waits := map[int]bool{}
	for _, t := range r.Evidence.Threads {
		waits[t.PID] = true
	}
	v := processesView{Total: len(r.Evidence.Processes), Empty: emptyWords(r, forensics.SourceProcesses, "No processes found.")}
	var list []procs.Process
	for _, p := range r.Evidence.Processes {
		if p.Kernel && !waits[p.PID] {
			v.Kernel++
			continue
		}
		list = append(list, p)
	}
	sorting.Stable(list, func(a, b procs.Process) int {
		return cmp.Compare(processRank(a, waits), processRank(b, waits))
	})
	room := budget(budgetProcesses)
	for i, p := range list {
		row := newProcessRow(i, p, r, names, places)
		if !room.fits(row, 220) {
			v.Cut = len(list) - i
			return v
		}
		places.put(forensics.KindProcess, strconv.Itoa(p.PID), row.Anchor)
		v.Rows = append(v.Rows, row)
	}
	return v
}

// processRank puts blocked, stopped and dead processes first.
func processRank(p procs.Process, waits map[int]bool) int {
	switch {
	case waits[p.PID]:
		return 0
	case strings.ContainsAny(p.State, "DTtZX"):
		return 1
	case p.PodUID != "":
		return 3
	}
	return 2
}

func newProcessRow(i int, p procs.Process, r Report, names podBook, places *places) processRow {
	row := processRow{
		Anchor: "process-" + strconv.Itoa(i+1), PID: p.PID, PPID: p.PPID, Comm: cell(p.Comm, 60),
		State: cell(stateWords(p.State), 60), Threads: p.Threads, Command: cell(strings.Join(p.Command, " "), maxCell),
		Started: newWhen(&p.Started, r.Evidence.Collected), Container: cell(p.ContainerID, 12),
	}
	if p.CommandError != "" {
		row.Command = cell(p.CommandError, maxCell)
	}
	if len(p.ContainerID) > 12 {
		row.Container = see(p.ContainerID[:12])
	}
	if p.PodUID != "" {
		row.Pod = link{cell(names.name(p.PodUID), 120), places.hrefOf(forensics.KindPod, p.PodUID)}
	}
	return row
}

// writeProcesses writes the table of processes that use a mount. Several uses of one kind by one process are one line.
func writeProcesses(b *bytes.Buffer, model *forensics.Model, list []forensics.HolderProcess) {
	rows := [][]string{{"PID", "USE", "USER", "COMMAND", "CONTAINER", "POD", "PATH"}}
	for i, h := range list {
		same := func(o forensics.HolderProcess) bool { return o.PID == h.PID && o.TID == h.TID && o.Kind == h.Kind }
		if slices.ContainsFunc(list[:i], same) {
			continue
		}
		count, name := 0, cellText(h.Path)
		for _, o := range list {
			if same(o) {
				count++
			}
		}
		kind := string(h.Kind)
		if h.FD >= 0 {
			kind += " " + strconv.Itoa(h.FD)
		}
		if count > 1 {
			kind += " (+" + strconv.Itoa(count-1) + ")"
		}
		if h.TID != 0 {
			kind += " thread " + strconv.Itoa(h.TID)
		}
		if h.Deleted {
			name += " (deleted)"
		}
		p, _ := model.Process(h.PID)
		rows = append(rows, []string{strconv.Itoa(h.PID), kind, userText(h.User, h.UID), cellText(p.Comm), shortID(p.ContainerID), podText(model, p.PodUID), name})
	}
	writeTable(b, rows)
}
