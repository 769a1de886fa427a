package report

import (
	"fmt"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/eviction"
)

// The size of a picture of a disk in pixels.
const (
	barWidth  = 720
	barHeight = 54
)

// diskBar is a bar of the used space. Marks show where usage crosses the thresholds.
type diskBar struct {
	Alt      shown
	W, H     int
	Segments []barSegment
	Ticks    []barTick
}

type barSegment struct {
	X, W  float64
	TextX float64
	Class string
	Label string // drawn where it has room: the number in the list below, so that the meaning does not depend on colour
	Title shown
}

type barTick struct {
	X     float64
	Sign  string
	Title shown
}

// spaceBar draws the used space by kind where that was counted, and where usage crosses each threshold.
func spaceBar(f eviction.FileSystem, d *eviction.Index, v diskView) *diskBar {
	b := &diskBar{W: barWidth, H: barHeight}
	total := float64(f.CapacityBytes)
	at := 0.0
	add := func(bytes float64, class, label, title string) {
		w := min(bytes/total*barWidth, barWidth-at)
		if w <= 0 {
			return
		}
		if w < float64(8*len(label)+6) {
			label = ""
		}
		b.Segments = append(b.Segments, barSegment{X: at, W: w, TextX: at + w/2, Class: class, Label: label, Title: shown(title)})
		at += w
	}
	counted := 0.0
	if u, ok := d.UsageOf(f.Device); ok && u.CountedBytes > 0 {
		scale := min(1, float64(f.UsedBytes())/float64(u.CountedBytes)) // files can share blocks
		for i, row := range v.Kinds {
			add(float64(row.Bytes)*scale, "k"+strconv.Itoa(i%4), row.Number, fmt.Sprintf("%s: %s", row.Name, row.Size))
			counted += float64(row.Bytes) * scale
		}
	}
	add(float64(f.UsedBytes())-counted, "rest", "used", "used, kind unknown: "+bytesWords(clip(f.UsedBytes())-int64(counted)))
	add(float64(f.FreeBytes-min(f.AvailableBytes, f.FreeBytes)), "reserved", "reserved", "reserved for root")
	for i, r := range d.Reaches(f.Device) {
		if !r.Threshold.Inodes() {
			b.tick(1-float64(r.Limit)/total, letter(i), r.Threshold.Kind+" "+r.Threshold.String())
		}
	}
	if collects(f, d) {
		b.tick(float64(d.ImageGC.HighPercent)/100, gcSign, "image garbage collection")
	}
	b.Alt = shown(fmt.Sprintf("%s of %s used, %s available", bytesWords(clip(f.UsedBytes())), bytesWords(clip(f.CapacityBytes)), bytesWords(clip(f.AvailableBytes))))
	return b
}

// gcSign marks where image garbage collection begins.
const gcSign = "gc"

// collects says whether image garbage collection applies to a file system.
func collects(f eviction.FileSystem, d *eviction.Index) bool {
	image, ok := d.Of(eviction.RoleImage)
	return ok && image.Device == f.Device && d.ImageGC.Disabled == ""
}

func inodeBar(f eviction.FileSystem, d *eviction.Index, _ diskView) *diskBar {
	b := &diskBar{W: barWidth, H: barHeight}
	used := f.Inodes - min(f.InodesFree, f.Inodes)
	w := float64(used) / float64(f.Inodes) * barWidth
	s := barSegment{W: w, TextX: w / 2, Class: "rest", Title: shown(grouped(clip(used)) + " inodes used")}
	if w > 60 {
		s.Label = "inodes"
	}
	b.Segments = append(b.Segments, s)
	for i, r := range d.Reaches(f.Device) {
		if r.Threshold.Inodes() {
			b.tick(1-float64(r.Limit)/float64(f.Inodes), letter(i), r.Threshold.Kind+" "+r.Threshold.String())
		}
	}
	b.Alt = shown(fmt.Sprintf("%s of %s inodes used", grouped(clip(used)), grouped(clip(f.Inodes))))
	return b
}

// tick marks a threshold; those that coincide share a mark.
func (b *diskBar) tick(at float64, sign, title string) {
	t := barTick{X: max(0, min(at, 1)) * barWidth, Sign: sign, Title: cell(title, maxCell)}
	for i, other := range b.Ticks {
		if d := other.X - t.X; d < 4 && d > -4 {
			b.Ticks[i].Sign += " " + t.Sign
			b.Ticks[i].Title += ", " + t.Title
			return
		}
	}
	b.Ticks = append(b.Ticks, t)
}
