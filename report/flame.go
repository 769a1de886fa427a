package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/report/internal/frame"
)

// flame is an icicle graph of the goroutines of a dump, or of a CPU profile. A bar is a function. Its width is its share of the goroutines
// or of the CPU time, and the functions that it calls are below.
type flame struct {
	W, H int
	Bars []flameBar
	Alt  shown
	Open bool // unfolded: there are too many goroutines for the table alone
	say  func(int) string
}

type flameBar struct {
	X, Y, W float64
	Text    shown // what fits into the bar
	Full    shown
	Kind    string // class of the style sheet, "" for an ordinary bar
	TextX   float64
	TextY   float64
}

const (
	flameWidth  = 1040
	flameRow    = 19
	flameDeep   = 26  // levels
	flameBars   = 420 // bars
	flameNarrow = 4   // pixels; narrower bars are left out
	flameMany   = 300 // goroutines; then the picture is unfolded
	flameLeast  = 5   // goroutines; fewer are better read in the table
	flameChar   = 6.65
)

// flameNode is a function with what it calls.
type flameNode struct {
	name           string
	count, blocked int
	calls          []*flameNode
	byName         map[string]*flameNode
}

// newFlame draws the goroutines of a dump; nil where they are too few.
func newFlame(groups []goroutines.Group, room *budget) *flame {
	root := &flameNode{}
	for _, g := range groups {
		names := make([]string, len(g.Frames))
		for i, frame := range g.Frames {
			names[i] = frame.Func
		}
		root.add(names, max(1, g.Count), g.Blocked)
	}
	if root.count < flameLeast {
		return nil
	}
	root.name = "all " + count(root.count, "goroutine")
	f := &flame{
		W: flameWidth, Open: root.count >= flameMany, say: strconv.Itoa,
		Alt: shown("Flame graph of " + count(root.count, "goroutine") + " by stack; the table below lists the same stacks."),
	}
	f.draw(root, 0, 0, flameWidth, root.count, room)
	return f
}

// newCPUFlame draws a CPU profile by milliseconds; nil where it is empty.
func newCPUFlame(p *goroutines.CPUProfile, room *budget) *flame {
	if p == nil {
		return nil
	}
	root := &flameNode{}
	for _, s := range p.Stacks {
		if ms := int(s.Seconds * 1000); ms > 0 {
			root.add(s.Frames, ms, false)
		}
	}
	if root.count == 0 {
		return nil
	}
	f := &flame{W: flameWidth, Open: true, say: func(ms int) string { return strconv.Itoa(ms) + " ms" }}
	root.name = "all " + f.say(root.count)
	f.Alt = shown("Flame graph of the kubelet's CPU profile, " + f.say(root.count) + "; the list below names the heaviest functions.")
	f.draw(root, 0, 0, flameWidth, root.count, room)
	return f
}

// add puts a stack, innermost frame first, into the tree from its outermost frame on.
func (n *flameNode) add(names []string, number int, blocked bool) {
	at := n
	at.note(number, blocked)
	for i := len(names) - 1; i >= 0; i-- {
		if names[i] == "runtime.goexit" {
			continue // the end of every stack
		}
		at = at.child(names[i])
		at.note(number, blocked)
	}
}

func (n *flameNode) note(number int, blocked bool) {
	n.count += number
	if blocked {
		n.blocked += number
	}
}

func (n *flameNode) child(name string) *flameNode {
	c := n.byName[name]
	if c == nil {
		c = &flameNode{name: name}
		if n.byName == nil {
			n.byName = map[string]*flameNode{}
		}
		n.byName[name] = c
		n.calls = append(n.calls, c)
	}
	return c
}

func (f *flame) draw(n *flameNode, level int, x, width float64, total int, room *budget) {
	if width < flameNarrow || level >= flameDeep || len(f.Bars) >= flameBars {
		return
	}
	bar := f.bar(n, level, x, width)
	if !room.fits(bar, 110) {
		return
	}
	f.Bars = append(f.Bars, bar)
	f.H = max(f.H, (level+1)*flameRow)
	sorting.Stable(n.calls, func(a, b *flameNode) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.name, b.name))
	})
	for _, c := range n.calls {
		share := float64(c.count) / float64(total) * flameWidth
		f.draw(c, level+1, x, share, total, room)
		x += share
	}
}

func (f *flame) bar(n *flameNode, level int, x, width float64) flameBar {
	b := flameBar{X: frame.Tenth(x), Y: float64(level * flameRow), W: frame.Tenth(max(width-1, 1)), Kind: flameKind(n, level)}
	full := cell(n.name, 160)
	b.Full = full + shown(": "+f.say(n.count))
	if n.blocked > 0 {
		b.Full += shown(fmt.Sprintf(", %d blocked", n.blocked))
	}
	b.TextX, b.TextY = frame.Tenth(x+4), b.Y+13
	name := full
	if level > 0 {
		name = cell(lastPart(n.name), 160)
	}
	if columns := int((b.W - 7) / flameChar); columns >= 3 {
		b.Text = shown(head(string(name), columns))
	}
	return b
}

// lastPart is a function's name without its import path.
func lastPart(name string) string {
	path, _, _ := strings.Cut(name, "[")
	return name[strings.LastIndexByte(path, '/')+1:]
}

// flameKind marks blocked functions and the kubelet's own code. The bar's text also says "blocked".
func flameKind(n *flameNode, level int) string {
	switch {
	case level == 0:
		return "all"
	case n.blocked > 0 && n.blocked == n.count:
		return "blocked"
	case strings.HasPrefix(n.name, "k8s.io/kubernetes/"):
		return "own"
	}
	return ""
}
