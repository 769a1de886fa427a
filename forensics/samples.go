package forensics

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// LatestDumps are the indexes of the dumps to judge, in their order: of several dumps of one process only the last
// that is whole, and of one moment the one that tells most (with states and arguments before aggregated ones). A dump
// of an unknown process (a file) always counts.
func (m *Model) LatestDumps() []int {
	best := map[string]int{} // process to index
	var latest []int
	for i, d := range m.evidence.Dumps {
		process := processOf(d)
		if process == "" {
			latest = append(latest, i)
			continue
		}
		if old, ok := best[process]; !ok || tellsMore(d, m.evidence.Dumps[old]) {
			best[process] = i
		}
	}
	for _, i := range best {
		latest = append(latest, i)
	}
	slices.Sort(latest)
	return latest
}

// processOf tells the dumps of one process from others': by its pid, or for a kubelet on another machine by the address
// that was asked; "" for a file.
func processOf(d Dump) string {
	switch {
	case d.PID != 0:
		return strconv.Itoa(d.PID)
	case d.Taken != nil:
		address, _, _ := strings.Cut(d.Source, "?")
		return address
	}
	return ""
}

// tellsMore says whether a is to be judged rather than b.
func tellsMore(a, b Dump) bool {
	if a, b := a.HasStates(), b.HasStates(); a != b {
		return a
	}
	if a.Truncated != b.Truncated {
		return b.Truncated
	}
	return a.Taken == nil || b.Taken == nil || !a.Taken.Before(*b.Taken)
}

// Stood is the time in seconds during which a goroutine of a dump was seen at one place: another dump of the same
// process, taken so much earlier or later, shows it in the same call with the same arguments. 0 means that no other
// dump shows that. It proves that the goroutine waits, though not that it waited all the time: a call can be
// repeated with the same pointers.
func (m *Model) Stood(dump int, g goroutines.Goroutine) float64 {
	d := m.evidence.Dumps[dump]
	if d.Taken == nil || g.ID == 0 {
		return 0
	}
	longest := 0.0
	for _, i := range m.index.dumpsOf[processOf(d)] {
		other := m.evidence.Dumps[i]
		if int(i) == dump || other.Taken == nil {
			continue
		}
		apart := d.Taken.Sub(*other.Taken).Abs().Seconds()
		if twin, _, ok := m.goroutine(int(i), g.ID); ok && apart > longest && sameCall(g, twin) {
			longest = apart
		}
	}
	return longest
}

// sameCall says whether a goroutine stands in the same call in two dumps: the same stack, and the same values for the
// arguments of the innermost frames, as far as both know them for certain.
func sameCall(a, b goroutines.Goroutine) bool {
	const inner = 6 // as far out as the call into the kernel, a lock or a transport reaches
	if a.State != b.State || len(a.Frames) != len(b.Frames) {
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
func (m *Model) Growths() []Growth {
	var found []Growth
	for _, last := range m.LatestDumps() {
		d := m.evidence.Dumps[last]
		process := pick(m.evidence.Dumps, m.index.dumpsOf[processOf(d)])
		first := slices.IndexFunc(process, func(o Dump) bool {
			return o.Taken != nil && d.Taken != nil && o.Taken.Before(*d.Taken) && o.HasStates() == d.HasStates()
		})
		if first < 0 {
			continue
		}
		before := process[first]
		apart := d.Taken.Sub(*before.Taken).Seconds()
		for _, c := range goroutines.Diff(goroutines.GroupBy(before.Dump), goroutines.GroupBy(d.Dump)) {
			if c.After > c.Before {
				found = append(found, Growth{Dump: last, Group: c.Group, Before: c.Before, Seconds: apart})
			}
		}
	}
	sorting.Stable(found, func(a, b Growth) int {
		return cmp.Compare(b.Group.Count-b.Before, a.Group.Count-a.Before)
	})
	return found
}
