package report

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// picture is the cause chain, drawn for wide and for narrow pages; the style sheet shows one of them.
type picture struct {
	Wide, Narrow drawing
	Branched     bool
}

// drawing is boxes, lines and words in CSS pixels.
type drawing struct {
	Class string
	Alt   shown
	W, H  int
	Boxes []drawnBox
	Lines []drawnLine
	Words []drawnWord
}

type drawnBox struct {
	X, Y, W, H int
	Tone       tone
	Kind       shown
	Badge      shown
	BadgeX     int
	TextX      int
	KindY      int
	Lines      []drawnText
}

type drawnText struct {
	Y    int
	Text shown
}

type drawnLine struct {
	Path  string
	Arrow string // the head's outline
}

type drawnWord struct {
	X, Y   int
	Anchor string
	Text   string
}

// The measures of the drawing. Text has a monospaced font of 12 px. Its characters are 0.6 em wide in every common font, so
// the width of a line is known here.
const (
	charWidth  = 7.25
	lineHeight = 17
	boxPad     = 14
	boxHead    = 28 // down to the top of the text
	gapDown    = 40
	gapBranch  = 14

	wideSpine  = 470
	wideGap    = 130
	wideBranch = 440

	narrowWidth  = 340
	narrowTrunk  = 16
	narrowBranch = 40
)

func newPicture(d forensics.Diagnosis, r Report, names podBook, number int) *picture {
	tree := newCauseTree(d, r, names)
	if len(tree) < 2 {
		return nil // one box explains nothing
	}
	p := &picture{Wide: drawWide(tree), Narrow: drawNarrow(tree)}
	for _, s := range tree {
		p.Branched = p.Branched || len(s.Branches) > 0
	}
	alt := shown(fmt.Sprintf("Cause chain %d: ", number)) + describe(tree)
	p.Wide.Class, p.Wide.Alt = "wide", alt
	p.Narrow.Class, p.Narrow.Alt = "narrow", alt
	return p
}

// describe is the picture in words.
func describe(tree causeTree) shown {
	var b strings.Builder
	for i, s := range tree {
		if i > 0 {
			b.WriteString("; " + s.Edge + " ")
		}
		b.WriteString(s.Text)
		for _, branch := range s.Branches {
			b.WriteString(" (also " + branch.Edge + " " + branch.Text + ")")
		}
	}
	return cell(b.String(), 2*maxLine)
}

// drawWide has the spine at the left and the branches of each step at its right.
func drawWide(tree causeTree) drawing {
	var d drawing
	y := 1
	for i, s := range tree {
		box := newBox(s.causeBox, 1, y, wideSpine, 5)
		height := box.H
		branchY := y
		for _, branch := range s.Branches {
			b := newBox(branch, wideSpine+wideGap, branchY, wideBranch, 4)
			d.Boxes = append(d.Boxes, b)
			d.branchWide(box, b, branch.Edge)
			branchY += b.H + gapBranch
			height = max(height, branchY-gapBranch-y)
			d.W = max(d.W, b.X+b.W+1)
		}
		d.Boxes = append(d.Boxes, box)
		if i < len(tree)-1 {
			d.down(wideSpine/2, box.Y+box.H, y+height+gapDown, tree[i+1].Edge)
		}
		y += height + gapDown
	}
	d.W, d.H = max(d.W, wideSpine+2), y-gapDown+1
	return d
}

func (d *drawing) branchWide(from, to drawnBox, word string) {
	y0, y1 := from.Y+min(from.H, to.H)/2, to.Y+to.H/2
	if to.Y == from.Y {
		y1 = y0
	}
	x0, x1, bend := from.X+from.W, to.X, from.X+from.W+14
	line := drawnLine{Path: fmt.Sprintf("M%d %dH%d", x0, y1, x1-7), Arrow: arrowRight(x1, y1)}
	if y0 != y1 {
		line.Path = fmt.Sprintf("M%d %dV%dH%d", bend, y0, y1, x1-7)
	}
	d.Lines = append(d.Lines, line)
	d.Words = append(d.Words, drawnWord{(bend + x1) / 2, y1 - 7, "middle", word})
}

// down is the edge from one step of the spine to the next.
func (d *drawing) down(x, y0, y1 int, word string) {
	d.Lines = append(d.Lines, drawnLine{Path: fmt.Sprintf("M%d %dV%d", x, y0, y1-7), Arrow: arrowDown(x, y1)})
	d.Words = append(d.Words, drawnWord{x + 12, y1 - gapDown/2 + 4, "start", word})
}

// drawNarrow has one column: the branches of a step hang indented below it, from a trunk at the left.
func drawNarrow(tree causeTree) drawing {
	d := drawing{W: narrowWidth + 2}
	y := 1
	for i, s := range tree {
		box := newBox(s.causeBox, 1, y, narrowWidth, 7)
		d.Boxes = append(d.Boxes, box)
		start := box.Y + box.H
		y = start
		for _, branch := range s.Branches {
			d.Words = append(d.Words, drawnWord{narrowBranch, y + 20, "start", branch.Edge})
			b := newBox(branch, narrowBranch, y+28, narrowWidth-narrowBranch, 5)
			d.Boxes = append(d.Boxes, b)
			middle := b.Y + b.H/2
			d.Lines = append(d.Lines, drawnLine{
				Path: fmt.Sprintf("M%d %dV%dH%d", narrowTrunk, start, middle, b.X-7), Arrow: arrowRight(b.X, middle),
			})
			y = b.Y + b.H
		}
		if i < len(tree)-1 {
			d.down(narrowTrunk, start, y+gapDown, tree[i+1].Edge)
			y += gapDown
		}
	}
	d.H = y + 1
	return d
}

func newBox(c causeBox, x, y, w, most int) drawnBox {
	b := drawnBox{
		X: x, Y: y, W: w, Tone: c.Tone, Kind: shown(head(string(cell(c.Kind, 60)), 19)), Badge: shown(head(string(cell(c.Badge, 60)), 14)),
		BadgeX: x + w - boxPad, TextX: x + boxPad + 2, KindY: y + 19,
	}
	columns := int(float64(w-2*boxPad) / charWidth)
	lines := wrap(string(cell(c.Text, columns*most-16)), columns)
	for i, line := range lines[:min(len(lines), most+2)] {
		b.Lines = append(b.Lines, drawnText{y + boxHead + 11 + i*lineHeight, shown(line)})
	}
	b.H = boxHead + len(b.Lines)*lineHeight + 10
	return b
}

func arrowRight(x, y int) string {
	return fmt.Sprintf("M%d %dl-8 -4.5v9z", x, y)
}

func arrowDown(x, y int) string {
	return fmt.Sprintf("M%d %dl-4.5 -8h9z", x, y)
}
