package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
)

const budgetDisks = 150 << 10

// disksView is the file systems that the kubelet watches.
type disksView struct {
	Disks     []diskView
	Assumed   shown
	NotWalked shown
	GC        shown
	Problems  []mark
	Cut       int
}

type diskView struct {
	Anchor, Heading string
	Name            shown
	State           mark
	Facts           []fact
	Error           shown
	Space, Inodes   *diskBar
	Thresholds      []thresholdRow
	Kinds           []kindRow
	Items           []itemRow
	Account         []fact
	CutWhy          shown
}

type thresholdRow struct {
	Sign   string
	Name   shown
	Origin shown
	Limit  shown
	Left   shown
	State  mark
}

type kindRow struct {
	Number string
	Name   shown
	Bytes  int64
	Size   string
	Share  string
	Files  string
}

type itemRow struct {
	Name  shown
	Path  shown
	Owner link
	Bytes int64
	Size  string
	Files string
}

func newDisksView(r Report, names podBook, places *places) *disksView {
	d := r.Evidence.Disks
	if d == nil {
		return nil
	}
	v := &disksView{Assumed: cell(d.Assumed, maxLine), NotWalked: cell(d.NotWalked, maxLine)}
	v.GC = cell(fmt.Sprintf("starts at %d %% usage and stops at %d %% (%s)", d.ImageGC.HighPercent, d.ImageGC.LowPercent, d.ImageGC.Origin), maxCell)
	if d.ImageGC.Disabled != "" {
		v.GC = cell("off: "+d.ImageGC.Disabled, maxCell)
	}
	for _, p := range d.Problems {
		t := toneNote
		if p.Serious {
			t = toneWarn
		}
		v.Problems = append(v.Problems, mark{t, cell(p.Text, maxLine)})
	}
	room, index := budget(budgetDisks), d.Index()
	for i, f := range d.FileSystems {
		view := newDiskView(i, f, index, names, places)
		if !room.fits(view, 2000+200*(len(view.Items)+len(view.Kinds)+len(view.Thresholds))) {
			v.Cut = len(d.FileSystems) - i
			break
		}
		places.put(forensics.KindDisk, f.Device, view.Anchor)
		v.Disks = append(v.Disks, view)
	}
	return v
}

func newDiskView(i int, f eviction.FileSystem, d *eviction.Index, names podBook, places *places) diskView {
	v := diskView{
		Anchor: "disk-" + strconv.Itoa(i+1), Name: cell(cmp.Or(f.MountPoint, f.Device), maxCell), Error: cell(f.Error, maxLine),
		State: diskMark(d, f),
	}
	facts := factList{}
	for _, p := range d.PlacesOn(f.Device) {
		facts.add(p.Role, strings.TrimSpace(p.Path+suffix(" (", p.Why, ")")))
	}
	facts.add("Device", strings.TrimSpace(strings.Join([]string{f.Device, f.FSType, f.Source}, " ")))
	if f.Error != "" || f.CapacityBytes == 0 {
		v.Facts = facts
		return v
	}
	facts.add("Size", bytesWords(clip(f.CapacityBytes)))
	facts.add("Used", fmt.Sprintf("%s; %d %% by the count of image garbage collection", bytesWords(clip(f.UsedBytes())), f.UsagePercent()))
	facts.add("Available", bytesWords(clip(f.AvailableBytes)))
	if reserved := f.FreeBytes - min(f.AvailableBytes, f.FreeBytes); reserved > 0 {
		facts.add("Reserved for root", bytesWords(clip(reserved)))
	}
	if f.Inodes > 0 {
		facts.add("Inodes", fmt.Sprintf("%s, %s free", grouped(clip(f.Inodes)), grouped(clip(f.InodesFree))))
	}
	v.Facts = facts
	v.addThresholds(f, d)
	v.addUsage(f, d, names, places)
	v.Space = spaceBar(f, d, v)
	if f.Inodes > 0 {
		v.Inodes = inodeBar(f, d, v)
	}
	return v
}

func clip(n uint64) int64 { return int64(min(n, 1<<62)) }

// diskMark is a file system relative to its thresholds, in words.
func diskMark(d *eviction.Index, f eviction.FileSystem) mark {
	switch what, full := f.Full(); {
	case f.Error != "":
		return mark{toneQuiet, "not measured"}
	case full:
		return mark{toneBad, shown("full: no " + what + " left")}
	}
	for _, r := range d.Reaches(f.Device) {
		if r.Met && r.Threshold.Hard() {
			return mark{toneBad, "hard threshold crossed"}
		}
	}
	for _, r := range d.Reaches(f.Device) {
		if r.Met {
			return mark{toneWarn, "soft threshold crossed"}
		}
	}
	if d.IsNear(f.Device) {
		return mark{toneWarn, "near a threshold"}
	}
	return mark{toneGood, "below all thresholds"}
}

func (v *diskView) addThresholds(f eviction.FileSystem, d *eviction.Index) {
	for _, r := range d.Reaches(f.Device) {
		row := thresholdRow{
			Sign: letter(len(v.Thresholds)), Name: cell(r.Threshold.Kind+" "+r.Threshold.String(), maxCell), Origin: cell(r.Threshold.Origin, 60),
			Limit: shown(bytesWords(clip(r.Limit))), Left: shown(fmt.Sprintf("%.1f %% of the size", r.Left())), State: mark{toneGood, "not reached"},
		}
		if r.Threshold.Inodes() {
			row.Limit = shown(grouped(clip(r.Limit)) + " inodes")
		}
		switch {
		case r.Met && r.Threshold.Hard():
			row.State = mark{toneBad, "crossed"}
		case r.Met:
			row.State = mark{toneWarn, "crossed"}
		case r.Left() < eviction.Near:
			row.State = mark{toneWarn, "near"}
		}
		if r.Threshold.Grace != "" {
			row.Origin += cell(", grace period "+r.Threshold.Grace, 60)
		}
		v.Thresholds = append(v.Thresholds, row)
	}
	if collects(f, d) {
		row := thresholdRow{
			Sign: gcSign, Name: "image garbage collection", Origin: cell(d.ImageGC.Origin, 60), Limit: shown(fmt.Sprintf("%d %% usage", d.ImageGC.HighPercent)),
			Left: shown(fmt.Sprintf("%d %% of the size", d.ImageGC.HighPercent-f.UsagePercent())), State: mark{toneGood, "not reached"},
		}
		if n := d.ImageGC.AmountToFree(f); n > 0 {
			row.State = mark{toneWarn, shown("must free " + bytesWords(clip(n)))}
		}
		v.Thresholds = append(v.Thresholds, row)
	}
}

func letter(i int) string { return string(rune('a' + min(i, 25))) }

// addUsage lists the usage by kind and by directory.
func (v *diskView) addUsage(f eviction.FileSystem, d *eviction.Index, names podBook, places *places) {
	u, ok := d.UsageOf(f.Device)
	if !ok {
		return
	}
	for i, k := range u.Kinds {
		v.Kinds = append(v.Kinds, kindRow{
			Number: strconv.Itoa(i + 1), Name: cell(eviction.KindName(k.Kind), maxCell), Bytes: k.Bytes, Size: bytesWords(k.Bytes),
			Share: share(k.Bytes, u.UsedBytes), Files: grouped(k.Files),
		})
	}
	for _, item := range u.Items {
		row := itemRow{
			Name: cell(eviction.KindName(item.Kind), maxCell), Path: cell(item.Path, maxCell), Bytes: item.Bytes, Size: bytesWords(item.Bytes), Files: grouped(item.Files),
		}
		switch {
		case item.PodUID != "":
			row.Owner = link{cell(names.name(item.PodUID), 120), places.hrefOf(forensics.KindPod, item.PodUID)}
		case item.Claim != "":
			row.Owner = link{Text: cell("claim "+item.Claim, 120)}
		case item.ContainerID != "":
			row.Owner = link{Text: cell("container "+item.ContainerID, 30)}
		}
		v.Items = append(v.Items, row)
	}
	account := factList{}
	account.add("Counted", fmt.Sprintf("%s of %s in %s below %s", bytesWords(u.CountedBytes), bytesWords(u.UsedBytes), count(int(u.Entries), "entry"), strings.Join(u.Trees, ", ")))
	account.add("Not accounted for", fmt.Sprintf("%s (%s): file system metadata, files below mount points, changes during the count", signedBytes(u.UnexplainedBytes), share(u.UnexplainedBytes, u.UsedBytes)))
	if u.MountPoints > 0 {
		account.add("Not entered", count(u.MountPoints, "mount point"))
	}
	if u.Problems > 0 {
		account.add("Not read", fmt.Sprintf("%s; the first: %s", count(u.Problems, "directory"), u.Problem))
	}
	if k := u.Kind(eviction.KindVolume); k.Items > 0 {
		account.add("Caution", "directories of volumes can be the data of a StatefulSet: do not remove them as unused")
	}
	v.Account = account
	if u.Cut != "" {
		v.CutWhy = cell("The count is incomplete: "+u.Cut+". The list is partial.", maxLine)
	}
}

func signedBytes(n int64) string {
	if n < 0 {
		return "-" + bytesWords(-n)
	}
	return bytesWords(n)
}

func share(part, whole int64) string {
	if part*2000 < whole && part*2000 > -whole {
		return "0 %"
	}
	return fmt.Sprintf("%.1f %%", float64(part)*100/float64(max(whole, 1)))
}
