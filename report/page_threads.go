package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

type threadsView struct {
	Rows       []threadRow
	Total, Cut int
	Empty      shown // why there is no thread
}

// threadRow is a thread that waits in a file system.
type threadRow struct {
	Anchor   string
	ID       shown
	Process  string
	Comm     shown
	State    shown
	Function shown
	Wait     shown
	Meaning  shown
	Kill     string
	Call     shown
	Path     shown
	PathFrom shown
	Mount    link
	For      string
	Seconds  float64
	Proof    string
	Stack    []shown
}

func newThreadsView(r Report, places *places) threadsView {
	threads := append([]procs.Thread{}, r.Evidence.Threads...)
	model := r.joined()
	waited := func(t procs.Thread) float64 {
		w := model.Waited(t)
		if !w.Known {
			return -1
		}
		return w.Seconds
	}
	sorting.Stable(threads, func(a, b procs.Thread) int { return cmp.Compare(waited(b), waited(a)) })
	v, room := threadsView{Total: len(threads), Empty: emptyWords(r, forensics.SourceThreads, "No thread is blocked in a file system.")}, budget(budgetThreads)
	for i, t := range threads {
		row := newThreadRow(i, t, waited(t), places)
		if !room.fits(row, 500) {
			v.Cut = len(threads) - i
			return v
		}
		places.put(forensics.KindThread, strconv.Itoa(t.PID)+"/"+strconv.Itoa(t.TID), row.Anchor)
		v.Rows = append(v.Rows, row)
	}
	return v
}

// newThreadRow is the row of a thread that has waited for at least so many seconds; -1 where that is unknown.
func newThreadRow(i int, t procs.Thread, waited float64, places *places) threadRow {
	row := threadRow{
		Anchor: "thread-" + strconv.Itoa(i+1), ID: shown(fmt.Sprintf("%d/%d", t.PID, t.TID)), Comm: cell(t.Comm, 60),
		State: cell(stateWords(t.State), 60), Function: cell(cmp.Or(t.Wait.Function, t.WChan), 120),
		Wait: cell(waitWords(t.Wait), 80), Meaning: cell(t.Wait.Meaning, maxCell), Kill: killWords(t.Wait),
		Call: cell(callWords(t.Syscall), maxCell), Path: cell(t.Path, maxCell), PathFrom: cell(t.PathFrom, 60),
		Seconds: waited, Proof: proofWords(t),
	}
	if t.MountID != 0 {
		row.Mount = places.link(forensics.Entity{Kind: forensics.KindMount, ID: strconv.Itoa(t.MountID)})
	} else if t.Device != "" {
		row.Mount = places.link(forensics.Entity{Kind: forensics.KindSuperblock, ID: t.Device})
	}
	if waited >= 0 {
		row.For = text.Duration(waited)
	}
	const deepest = 40
	for _, f := range t.Stack[:min(len(t.Stack), deepest)] {
		row.Stack = append(row.Stack, cell(f, 120))
	}
	if more := len(t.Stack) - deepest; more > 0 {
		row.Stack = append(row.Stack, shown(fmt.Sprintf("… %d more", more)))
	}
	return row
}

// stateWords explains the state letter of proc_pid_stat(5).
func stateWords(s string) string {
	switch s {
	case "S":
		return "S, sleeping"
	case "D":
		return "D, uninterruptible"
	case "R":
		return "R, running"
	case "T":
		return "T, stopped"
	case "t":
		return "t, traced"
	case "Z":
		return "Z, zombie"
	case "I":
		return "I, idle"
	case "X":
		return "X, dead"
	}
	return s
}

func waitWords(w procs.Wait) string {
	words := map[procs.WaitKind]string{
		procs.WaitServer: "file server", procs.WaitRetry: "file server, not ready", procs.WaitFUSE: "FUSE server", procs.WaitAutofs: "automount daemon",
		procs.WaitBlock: "disk", procs.WaitJournal: "journal", procs.WaitFrozen: "frozen file system",
		procs.WaitFSLock: "file system lock", procs.WaitFileLock: "file lock", procs.WaitMmapLock: "memory map lock", procs.WaitCgroup: "cgroup lock",
		procs.WaitFreezer: "frozen cgroup", procs.WaitExit: "end of a process", procs.WaitWriteback: "write-back",
		procs.WaitOtherDisk: "uninterruptible", procs.WaitUnknown: "",
	}[w.Kind]
	if words == "" {
		words = string(w.Kind)
	}
	if w.FS != "" {
		words = strings.TrimSpace(words + " (" + w.FS + ")")
	}
	return words
}

func killWords(w procs.Wait) string {
	switch {
	case w.Killable():
		return "SIGKILL ends it"
	case w.Unkillable():
		return "SIGKILL does not end it"
	}
	return ""
}

// callWords is a system call with its arguments, without the trailing zeros.
func callWords(c *procs.Syscall) string {
	if c == nil {
		return ""
	}
	args := c.Args
	for len(args) > 0 && args[len(args)-1] == "0x0" {
		args = args[:len(args)-1]
	}
	return cmp.Or(c.Name, "syscall "+strconv.Itoa(c.Number)) + "(" + joinComma(args) + ")"
}

// proofWords is how the duration of a wait is known.
func proofWords(t procs.Thread) string {
	switch {
	case t.Gone:
		return "no longer blocked in the second sample"
	case t.Same:
		return "did not run between two samples, " + text.Duration(t.SampledSeconds) + " apart"
	case t.WaitFrom == procs.WaitFromSched:
		return "from the scheduler clock"
	}
	return ""
}
