package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// holdersView is which processes use which mount.
type holdersView struct {
	Empty  shown // why there is no group
	Groups []holderGroup
	Total  int // mounts in use, and leaked ones
	Cut    int
	Left   int // uses that the evidence leaves out
	Blind  shown
}

// holderGroup is one mount and everything that uses it.
type holderGroup struct {
	Name   link
	Source shown
	Words  shown // "2 processes, 1 use in the kernel"
	Rows   []holderRow
	More   int
	Notes  []shown // uses in the kernel, its server, and namespaces with a copy
	Open   bool
}

type holderRow struct {
	Process   link
	Kind      shown
	User      shown
	Command   shown
	Container shown
	Pod       link
	Path      shown
}

const maxGroupRows = 40

func newHoldersView(r Report, names podBook, places *places) holdersView {
	h := r.Evidence.MountUse
	if h == nil {
		return holdersView{Empty: emptyWords(r, forensics.SourceHolders, "Not collected.")}
	}
	model := names.model
	v, room := holdersView{Empty: "No use of a relevant mount found.", Left: h.LeftOut, Blind: cell(holders.KernelBlind, maxLine)}, budget(budgetHolders)
	busy, detached, leaked := busyMounts(r, model), detachedHolders(model), model.Uses().Leaked()
	v.Total = len(busy) + len(detached) + len(leaked)
	add := func(g holderGroup) bool {
		fits := room.fits(g, 300+len(g.Rows)*160)
		if fits {
			v.Groups = append(v.Groups, g)
		}
		return fits
	}
	v.addAll(len(busy), func(i int) bool { return add(newHolderGroup(model, model.Uses().Of(busy[i]), names, places)) })
	v.addAll(len(detached), func(i int) bool { return add(detachedGroup(model, detached[i], names, places)) })
	v.addAll(len(leaked), func(i int) bool { return add(leakedGroup(model, leaked[i], places)) })
	return v
}

// addAll makes groups as long as there is room for them.
func (v *holdersView) addAll(n int, add func(i int) bool) {
	for i := range n {
		if v.Cut > 0 || !add(i) {
			v.Cut += n - i
			return
		}
	}
}

// busyMounts lists the host's mounts that something uses, those that do not answer first.
func busyMounts(r Report, model *forensics.Model) []mounts.Mount {
	h, busy := r.Evidence.MountUse, map[int]bool{}
	for _, holder := range h.Holders {
		busy[holder.MountID] = busy[holder.MountID] || !model.Uses().Detached(holder)
	}
	for _, c := range h.Copies {
		busy[c.Of] = busy[c.Of] || len(model.Uses().Copies(c.Of)) > 0
	}
	for _, k := range h.Kernel {
		busy[k.MountID] = busy[k.MountID] || k.Blocks
	}
	var list []mounts.Mount
	for _, m := range mountItems(r) {
		if busy[m.ID] {
			list = append(list, m.Mount)
		}
	}
	return list
}

func newHolderGroup(model *forensics.Model, u forensics.MountUsers, names podBook, places *places) holderGroup {
	m := u.Mount
	g := holderGroup{
		Name:   link{cell(m.MountPoint, maxCell), places.hrefOf(forensics.KindMount, strconv.Itoa(m.ID))},
		Source: cell(strings.TrimSpace(fmt.Sprintf("%s %s, mount %d", m.FSType, m.Source, m.ID)), maxCell),
	}
	health, _ := model.Health(m.Device)
	_, t := healthWords(health.Status)
	g.Open = t == toneBad
	g.add(u.Holders, names, places)
	words := []string{count(processesOf(u.Holders), "process")}
	blocking := 0
	for _, k := range u.Kernel {
		if k.Blocks {
			blocking++
		}
		g.note("kernel: %s %s %s%s", k.Use, k.What, k.Detail, map[bool]string{true: " (busy)"}[k.Blocks])
	}
	if blocking > 0 {
		words = append(words, count(blocking, "kernel use"))
	}
	for _, s := range u.Servers {
		how := ""
		if trouble, bad := model.Uses().ServerTrouble(s.PID); bad {
			how = ", which " + trouble.String()
		}
		switch {
		case s.PID == 0:
			g.note("no server process: %s", s.Why)
		case s.Guess:
			g.note("probably served by process %d%s: %s", s.PID, how, s.Why)
		default:
			g.note("served by process %d%s", s.PID, how)
		}
	}
	for _, c := range u.Copies {
		g.note("%s also keeps it busy (mount propagation)", model.Uses().DescribeCopy(c))
	}
	if len(u.Elsewhere) > 0 {
		g.note("in use through other mounts of the same file system by %s; this does not keep the mount busy", count(processesOf(u.Elsewhere), "process"))
	}
	for _, n := range u.Namespace {
		g.note("mount namespace %d: %s", n.Namespace, namespaceWords(n))
	}
	g.Words = shown(joinComma(words))
	return g
}

func processesOf(list []forensics.HolderProcess) int {
	pids := map[int]bool{}
	for _, h := range list {
		pids[h.PID] = true
	}
	return len(pids)
}

func (g *holderGroup) note(format string, args ...any) {
	if len(g.Notes) < maxGroupRows {
		g.Notes = append(g.Notes, cell(strings.TrimSpace(fmt.Sprintf(format, args...)), maxCell))
	}
}

func (g *holderGroup) add(list []forensics.HolderProcess, names podBook, places *places) {
	for i, h := range list {
		if i >= maxGroupRows {
			g.More = len(list) - i
			return
		}
		row := holderRow{
			Process: link{shown(strconv.Itoa(h.PID)), places.hrefOf(forensics.KindProcess, strconv.Itoa(h.PID))},
			Kind:    cell(holdWords(h), 60), User: cell(userWords(h), 60), Command: cell(h.Comm, 60),
			Container: cell(h.ContainerID[:min(len(h.ContainerID), 12)], 12), Path: cell(h.Path, maxCell),
		}
		if h.PodUID != "" {
			row.Pod = link{cell(names.name(h.PodUID), 120), places.hrefOf(forensics.KindPod, h.PodUID)}
		}
		g.Rows = append(g.Rows, row)
	}
}

// detachedHolders are the users of mounts that are in no mount table, by mount.
func detachedHolders(model *forensics.Model) [][]holders.Holder {
	lists := map[int][]holders.Holder{}
	for _, holder := range model.Evidence().MountUse.Holders {
		if model.Uses().Detached(holder) {
			lists[holder.MountID] = append(lists[holder.MountID], holder)
		}
	}
	var sorted [][]holders.Holder
	for _, id := range slices.Sorted(maps.Keys(lists)) {
		sorted = append(sorted, lists[id])
	}
	return sorted
}

func detachedGroup(model *forensics.Model, holders []holders.Holder, names podBook, places *places) holderGroup {
	var list []forensics.HolderProcess
	for _, h := range holders {
		list = append(list, model.Uses().Process(h))
	}
	id := holders[0].MountID
	g := holderGroup{Name: link{Text: shown(fmt.Sprintf("mount %d, in no mount table (detached)", id))}, Words: shown(count(processesOf(list), "process"))}
	if id == 0 {
		g.Name.Text = "mapped files of detached mounts"
	}
	g.add(list, names, places)
	return g
}

// leakedGroup is a mount that only another namespace has.
func leakedGroup(model *forensics.Model, l forensics.ForeignMount, places *places) holderGroup {
	g := holderGroup{
		Name:   link{cell(l.Mount.MountPoint, maxCell), places.hrefOf(forensics.KindMount, strconv.Itoa(l.Mount.ID))},
		Source: cell(strings.TrimSpace(fmt.Sprintf("%s %s, mount %d", l.Mount.FSType, l.Mount.Source, l.Mount.ID)), maxCell),
		Words:  shown(fmt.Sprintf("only in mount namespace %d", l.Namespace)),
	}
	g.note("%s", namespaceWords(model.Uses().Namespace(l.Namespace)))
	return g
}
