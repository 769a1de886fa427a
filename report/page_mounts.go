package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// mountsView is the tree of the mounts below the root directory of the kubelet, and the table of all mounts.
type mountsView struct {
	Root    shown        // the kubelet's directory
	Groups  []mountGroup // with problems
	Folded  []mountGroup // with problems too, after the first ones
	Well    []mountGroup // without
	TreeCut int
	Rows    []mountRow
	Total   int
	Cut     int
	Spaces  bool // there is more than one mount namespace
	Tally   []mark
	Empty   shown // why there is no mount
}

type mountRow struct {
	Anchor  string
	ID      int
	Point   shown
	Type    shown
	Class   shown
	Source  shown
	Device  shown
	Health  mark
	Detail  shown
	Rank    int
	Options shown
	Space   shown
}

// mountItem is a mount with what is known about it.
type mountItem struct {
	mounts.Mount
	health mounts.Health
	known  bool
	space  string
	below  string // path below the kubelet's directory, "" if elsewhere
	rank   int
}

func newMountsView(r Report, names podBook, places *places) mountsView {
	items, v := mountItems(r), mountsView{Empty: emptyWords(r, forensics.SourceMounts, "The mount table has no mounts.")}
	v.Total, v.Spaces = len(items), len(r.Evidence.Namespaces) > 0
	if k := r.Evidence.Kubelet; k != nil {
		v.Root = cell(cmp.Or(k.CanonicalRoot, k.RootDir), maxCell)
	}
	v.addTable(items, places)
	v.addTree(items, names, places)
	v.addTally(items)
	return v
}

// mountItems joins mounts and their health, the worst first, then those of the kubelet, then by what an access to them
// may wait for; in the kernel's order otherwise.
func mountItems(r Report) []mountItem {
	byID, byDevice := map[int]mounts.Health{}, map[string]mounts.Health{}
	for _, h := range r.MountHealth {
		byID[h.MountID] = h
		if old, ok := byDevice[h.Device]; !ok || healthRank(h.Status) < healthRank(old.Status) {
			byDevice[h.Device] = h
		}
	}
	seen := map[int]bool{}
	var items []mountItem
	for i, table := range append([]mounts.Table{r.Evidence.Mounts}, r.Evidence.Namespaces...) {
		for _, m := range table.Mounts {
			if seen[m.ID] {
				continue
			}
			seen[m.ID] = true
			item := mountItem{Mount: m, below: belowKubelet(r, m.MountPoint)}
			if item.health, item.known = byID[m.ID]; !item.known && m.Device != "" {
				item.health, item.known = byDevice[m.Device]
			}
			if item.space = "host"; i > 0 {
				item.space = strconv.FormatUint(table.Namespace, 10)
			}
			item.rank = itemRank(item)
			items = append(items, item)
		}
	}
	sorting.Stable(items, func(a, b mountItem) int { return cmp.Compare(a.rank, b.rank) })
	return items
}

func healthRank(s mounts.Status) int {
	_, t := healthWords(s)
	return t.rank()
}

func itemRank(m mountItem) int {
	rank := healthRank(m.health.Status) * 100
	if m.known && m.health.Status == mounts.StatusOK {
		rank = healthRank(mounts.StatusNotProbed) * 100 // well is no reason to be last
	}
	if m.below == "" {
		rank += 10
	}
	switch m.Class {
	case mounts.ClassNetwork, mounts.ClassFUSE, mounts.ClassUnknown, mounts.ClassAutofs:
	case mounts.ClassBlock:
		rank++
	case mounts.ClassOverlay, mounts.ClassMemory:
		rank += 2
	default:
		rank += 3
	}
	return rank
}

// belowKubelet is the path below the kubelet's directory: "pods/5c94…/volumes/…".
func belowKubelet(r Report, point string) string {
	k := r.Evidence.Kubelet
	if k == nil {
		return ""
	}
	for _, root := range []string{k.CanonicalRoot, k.RootDir} {
		root = strings.TrimSuffix(root, "/")
		if below, ok := strings.CutPrefix(point, root+"/"); ok && root != "" {
			return below
		}
	}
	return ""
}

func (v *mountsView) addTable(items []mountItem, places *places) {
	room := budget(budgetMounts)
	for i, m := range items {
		word, t := healthWords(m.health.Status)
		row := mountRow{
			Anchor: "mount-" + strconv.Itoa(i+1), ID: m.ID, Point: cell(m.MountPoint, maxCell),
			Type: cell(m.FSType, 60), Class: cell(string(m.Class), 60), Source: cell(m.Source, maxCell),
			Device: cell(m.Device, 60), Health: mark{t, cell(word, 60)}, Detail: cell(healthDetail(m), maxCell), Rank: t.rank(),
			Options: cell(mountOptions(m.Mount), maxCell), Space: cell(m.space, 40),
		}
		if !room.fits(row, 300) {
			v.Cut = len(items) - i
			return
		}
		places.put(forensics.KindMount, strconv.Itoa(m.ID), row.Anchor)
		places.put(forensics.KindSuperblock, m.Device, row.Anchor)
		v.Rows = append(v.Rows, row)
	}
}

func mountOptions(m mounts.Mount) string {
	s := m.Options
	if m.SuperOptions != "" && m.SuperOptions != m.Options {
		s += " | " + m.SuperOptions
	}
	if m.Root != "/" && m.Root != "" {
		s += " | root " + m.Root
	}
	return s
}

// healthDetail is the evidence for a status.
func healthDetail(m mountItem) string {
	h, parts := m.health, []string{}
	switch {
	case h.Status == mounts.StatusNotProbed:
	case h.Seconds > 0 && h.Status == mounts.StatusHung:
		parts = append(parts, "for "+text.Duration(h.Seconds))
	case h.Seconds > 0:
		parts = append(parts, "after "+text.Duration(h.Seconds))
	}
	if h.Call != "" {
		parts = append(parts, h.Call)
	}
	if h.Method == mounts.MethodPassive {
		parts = append(parts, "from blocked threads, not probed")
	}
	for _, s := range []string{h.Error, h.Reason} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if h.Witness != "" {
		parts = append(parts, "thread "+h.Witness+" is blocked")
	}
	if len(h.Waiting) > 0 {
		parts = append(parts, fmt.Sprintf("requests waiting: %s", joinInts(h.Waiting, " then ")))
	}
	return strings.Join(parts, "; ")
}

func joinInts(list []int, sep string) string {
	var words []string
	for _, n := range list {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, sep)
}

func (v *mountsView) addTally(items []mountItem) {
	counts := map[mounts.Status]int{}
	for _, m := range items {
		counts[m.health.Status]++
	}
	for _, s := range []mounts.Status{
		mounts.StatusHung, mounts.StatusFrozen, mounts.StatusDisconnected, mounts.StatusStale, mounts.StatusIOError,
		mounts.StatusSlow, mounts.StatusUnanswered, mounts.StatusRecovered, mounts.StatusDenied, mounts.StatusOK,
		mounts.StatusNotProbed,
	} {
		if counts[s] > 0 {
			word, t := healthWords(s)
			v.Tally = append(v.Tally, mark{t, shown(grouped(int64(counts[s])) + " " + word)})
		}
	}
}
