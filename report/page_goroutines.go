package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// dumpView is one goroutine dump, grouped by stack.
type dumpView struct {
	Number    int
	Source    shown
	Facts     []fact
	Truncated bool
	Problems  []shown
	Total     int
	Groups    []groupRow
	All, Cut  int // groups
	Again     int // groups left out because the first dump has similar ones
	Flame     *flame
	More      int // dumps that are not shown
}

// groupRow is goroutines with one stack, or one that a finding names.
type groupRow struct {
	Anchor  string
	Count   int
	States  shown
	Minutes int
	Role    shown
	Top     shown
	Creator shown
	IDs     shown
	Frames  []shown
	Note    string
	Key     bool // a finding names it
	Blocked bool
}

// fewGroups are shown of a further dump of the same process. It is taken to see progress.
const fewGroups = 12

func newDumpViews(r Report, places *places) []dumpView {
	const most = 8
	named := namedGoroutines(r)
	room, bars := budget(budgetGoroutines), budget(budgetFlame)
	var views []dumpView
	serial := 0
	dumps := inOrder(r.Evidence.Dumps)
	seen := map[int]bool{}
	for i, d := range dumps[:min(len(dumps), most)] {
		groups := goroutines.GroupBy(d.Dump)
		v := newDumpView(i+1, d, groups)
		again := d.PID != 0 && seen[d.PID]
		seen[d.PID] = true
		if !again {
			v.Flame = newFlame(groups, &bars)
		}
		if i == most-1 {
			v.More = len(dumps) - most
		}
		rows := append(namedRows(&d, named), groupRows(&d, groups, named)...)
		v.All = len(groups)
		for j, g := range rows {
			if again && j == fewGroups {
				v.Again = len(rows) - j
				break
			}
			serial++
			g.row.Anchor = "goroutines-" + strconv.Itoa(serial)
			if !room.fits(g.row, 400) {
				v.Cut = len(rows) - j
				break
			}
			for _, id := range g.ids {
				places.put(forensics.KindGoroutine, forensics.GoroutineEntity(&d, id).ID, g.row.Anchor)
			}
			v.Groups = append(v.Groups, g.row)
		}
		views = append(views, v)
	}
	return views
}

// inOrder are the kubelet's dumps, then those of other programs.
func inOrder(dumps []forensics.Dump) []forensics.Dump {
	other := func(d forensics.Dump) int {
		if d.Program == "" || d.Program == "kubelet" {
			return 0
		}
		return 1
	}
	dumps = slices.Clone(dumps)
	sorting.Stable(dumps, func(a, b forensics.Dump) int { return other(a) - other(b) })
	return dumps
}

func newDumpView(number int, d forensics.Dump, groups []goroutines.Group) dumpView {
	v := dumpView{Number: number, Source: cell(d.Source, maxCell), Truncated: d.Truncated}
	facts := factList{}
	facts.add("Program", d.Program)
	if d.PID != 0 {
		facts.add("Process", strconv.Itoa(d.PID))
	}
	if d.Taken != nil {
		facts.add("Taken", text.Moment(*d.Taken))
	}
	facts.add("Format", string(d.Form))
	facts.add("Header", d.Header)
	if d.Summed > 0 {
		facts.add("Large dump", fmt.Sprintf("examples of each group are kept, %s are counted only", count(d.Summed, "goroutine")))
	}
	v.Facts = facts
	const most = 10
	for _, p := range d.Problems[:min(len(d.Problems), most)] {
		v.Problems = append(v.Problems, cell(fmt.Sprintf("line %d: %s", p.Line, p.Reason), maxCell))
	}
	for _, g := range groups {
		v.Total += g.Count
	}
	return v
}

// namedGoroutines are those that a diagnosis or a finding names.
func namedGoroutines(r Report) map[string]bool {
	named := map[string]bool{}
	for _, d := range r.Diagnoses {
		for _, l := range d.Chain {
			if l.Kind == forensics.KindGoroutine {
				named[l.ID] = true
			}
		}
	}
	for _, f := range r.Findings {
		for _, e := range slices.Concat(f.About(), f.Because) {
			if e.Kind == forensics.KindGoroutine {
				named[e.ID] = true
			}
		}
	}
	return named
}

// rowWithIDs is a row and the goroutines that links to it may mean.
type rowWithIDs struct {
	row groupRow
	ids []int64
}

// namedRows shows the goroutines of findings one by one: their arguments are evidence.
func namedRows(d *forensics.Dump, named map[string]bool) []rowWithIDs {
	var rows []rowWithIDs
	for _, g := range d.Goroutines {
		if g.ID == 0 || !named[forensics.GoroutineEntity(d, g.ID).ID] {
			continue
		}
		row := groupRow{
			Count: max(1, g.Count), States: cell(g.State, 80), Minutes: g.WaitMinutes, Role: cell(goroutines.RoleOf(g).Name, 80),
			Blocked: g.Blocked(), IDs: shown(strconv.FormatInt(g.ID, 10)), Key: true, Note: stackNote(g),
		}
		row.addStack(g.Frames, g.CreatedBy, true)
		rows = append(rows, rowWithIDs{row, []int64{g.ID}})
	}
	return rows
}

func groupRows(d *forensics.Dump, groups []goroutines.Group, named map[string]bool) []rowWithIDs {
	var rows []rowWithIDs
	for _, g := range groups {
		if g.Count == 1 && len(g.IDs) == 1 && named[forensics.GoroutineEntity(d, g.IDs[0]).ID] {
			continue // shown already
		}
		row := groupRow{
			Count: g.Count, States: cell(stateCounts(g.States), 160), Minutes: g.MaxWaitMinutes, Role: cell(g.Role.Name, 80),
			Blocked: g.Blocked, IDs: idWords(g),
		}
		row.addStack(g.Frames, g.CreatedBy, g.Count == 1)
		rows = append(rows, rowWithIDs{row, g.IDs})
	}
	return rows
}

// stateCounts is "chan receive", or "chan receive 3, select 1" where there are several.
func stateCounts(states map[string]int) string {
	names := slices.Sorted(maps.Keys(states))
	sorting.Stable(names, func(a, b string) int { return cmp.Compare(states[b], states[a]) })
	if len(names) == 1 {
		return names[0]
	}
	for i, name := range names {
		names[i] = name + " " + strconv.Itoa(states[name])
	}
	return joinComma(names)
}

func idWords(g goroutines.Group) shown {
	var ids []string
	for _, id := range g.IDs {
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	words := joinComma(ids)
	if more := g.Count - len(g.IDs); more > 0 && len(ids) > 0 {
		words += " and " + grouped(int64(more)) + " more"
	}
	return shown(words)
}
