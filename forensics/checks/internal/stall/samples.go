package stall

import (
	"cmp"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// SameFor is the time in seconds between two dumps of a process that show a goroutine in the same call with the same arguments; 0 if no
// other dump does. It proves that the goroutine waits, but not that it waited all the time: a call can be repeated with the same pointers.
func SameFor(p *forensics.Pass, dump int, g goroutines.Goroutine) float64 {
	d := p.Evidence.Dumps[dump]
	if d.Taken == nil || g.ID == 0 {
		return 0
	}
	longest := 0.0
	for _, i := range p.Model.DumpsWith(dump) {
		other := p.Evidence.Dumps[i]
		if i == dump || other.Taken == nil {
			continue
		}
		between := d.Taken.Sub(*other.Taken).Abs().Seconds()
		if twin, ok := p.Model.Goroutine(i, g.ID); ok && between > longest && sameCall(g, twin) {
			longest = between
		}
	}
	return longest
}

// sameCall says whether a goroutine is in the same call in two dumps: the same stack, and the same values for the arguments of the
// innermost frames, as far as both dumps know them for certain.
func sameCall(a, b goroutines.Goroutine) bool {
	const inner = 6 // as far out as the call into the kernel, a lock or a transport reaches
	if a.State != b.State || len(a.Frames) != len(b.Frames) || a.StackSum != b.StackSum {
		return false
	}
	for i := range a.Frames {
		f, g := a.Frames[i], b.Frames[i]
		if f.Func != g.Func || f.Line != g.Line || i < inner && !sameWords(f.Words(), g.Words()) {
			return false
		}
	}
	return true
}

func sameWords(a, b []goroutines.Word) bool {
	for i := range min(len(a), len(b)) {
		if a[i].Known && b[i].Known && !a[i].Uncertain && !b[i].Uncertain && a[i].Value != b[i].Value {
			return false
		}
	}
	return true
}

// Growth is a group of goroutines with one stack that became larger between the first and the last dump of a process.
type Growth struct {
	// Dump is the index of the later dump.
	Dump   int
	Group  goroutines.Group
	Before int
	// Seconds is the time between the two.
	Seconds float64
}

// Growths compares the first and the last dump of each process that was dumped more than once, largest growth first.
func Growths(p *forensics.Pass) []Growth {
	var found []Growth
	for _, last := range p.Model.LatestDumps() {
		d := p.Evidence.Dumps[last]
		process := p.Model.DumpsWith(last)
		first := slices.IndexFunc(process, func(i int) bool {
			o := p.Evidence.Dumps[i]
			return o.Taken != nil && d.Taken != nil && o.Taken.Before(*d.Taken) && o.HasStates() == d.HasStates()
		})
		if first < 0 {
			continue
		}
		before := p.Evidence.Dumps[process[first]]
		between := d.Taken.Sub(*before.Taken).Seconds()
		for _, c := range goroutines.Diff(goroutines.GroupBy(before.Dump), goroutines.GroupBy(d.Dump)) {
			if c.After > c.Before {
				found = append(found, Growth{Dump: last, Group: c.Group, Before: c.Before, Seconds: between})
			}
		}
	}
	sorting.Stable(found, func(a, b Growth) int {
		return cmp.Compare(b.Group.Count-b.Before, a.Group.Count-a.Before)
	})
	return found
}
