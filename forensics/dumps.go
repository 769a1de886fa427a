package forensics

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// kubeletProgram is the [Dump.Program] of a kubelet.
const kubeletProgram = "kubelet"

// ofKubelet says whether a dump is that of a kubelet, or may be.
func (d *Dump) ofKubelet() bool { return d.Program == "" || d.Program == kubeletProgram }

// LatestDumps are the indexes of the kubelet's dumps to judge, in their order. Of several dumps of one process it is the last complete one,
// and of those of one moment the one with the most information (states and arguments before aggregated ones). A dump of an unknown process
// (a file) always counts.
func (m *Model) LatestDumps() []int { return latestDumps(m, (*Dump).ofKubelet) }

// OtherDumps are the same of other programs: container runtimes, CSI drivers, FUSE servers. What such a dump says is the word of that
// process alone.
func (m *Model) OtherDumps() []int {
	return latestDumps(m, func(d *Dump) bool { return !d.ofKubelet() })
}

func latestDumps(m *Model, wanted func(*Dump) bool) []int {
	best := map[string]int{} // process to index
	var latest []int
	for i, d := range m.evidence.Dumps {
		process := processOf(d)
		if !wanted(&d) {
			continue
		}
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

// processOf identifies the process of a dump: by its pid, or for a kubelet on another machine by its address; "" for a file.
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

// DumpsWith are the indexes of all dumps of the process that a dump is of, in their order; none for a dump of an unknown process.
func (m *Model) DumpsWith(dump int) []int {
	var found []int
	for _, i := range m.index.dumpsOf[processOf(m.evidence.Dumps[dump])] {
		found = append(found, int(i))
	}
	return found
}

// GoroutineEntity is a goroutine as an entity: its number for a kubelet's, with the process or the program before it for another's
// ("812/142", "containerd/142").
func GoroutineEntity(d *Dump, id int64) Entity {
	e := Entity{KindGoroutine, strconv.FormatInt(id, 10)}
	if !d.ofKubelet() {
		e.ID = whose(d) + "/" + e.ID
	}
	return e
}

// whose is what the goroutines of another program than the kubelet are known by.
func whose(d *Dump) string {
	if d.PID != 0 {
		return strconv.Itoa(d.PID)
	}
	return d.Program
}

// goroutineByID finds the goroutine of an entity in the first dump that has it.
func goroutineByID(m *Model, id string) (g goroutines.Goroutine, dump int, ok bool) {
	of, number, other := strings.Cut(id, "/")
	if !other {
		number = of
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n == 0 {
		return g, 0, false
	}
	for i := range m.evidence.Dumps {
		d := &m.evidence.Dumps[i]
		if other == d.ofKubelet() || other && whose(d) != of {
			continue
		}
		if g, ok := m.Goroutine(i, n); ok {
			return g, i, true
		}
	}
	return g, 0, false
}

// tellsMore says whether a is judged instead of b.
func tellsMore(a, b Dump) bool {
	if a, b := a.HasStates(), b.HasStates(); a != b {
		return a
	}
	if a.Truncated != b.Truncated {
		return b.Truncated
	}
	return a.Taken == nil || b.Taken == nil || !a.Taken.Before(*b.Taken)
}
