package forensics

import (
	"slices"
	"strconv"
	"strings"
)

// LatestDumps are the indexes of the dumps to judge, in their order. Of several dumps of one process it is the last complete one, and of
// those of one moment the one with the most information (states and arguments before aggregated ones). A dump of an unknown process (a
// file) always counts.
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
