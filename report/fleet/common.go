package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Which traits are shown. They are counts, not causes.
const (
	maxTraits = 6
	// minSick is how many sick nodes there must be, and leastLead by how much the share among them must be larger than among the well ones.
	minSick   = 3
	leastLead = 0.5
)

// compare finds what sick nodes have in common and well ones have not: of all causes, and of each.
func (s *Summary) compare() {
	wells := tally{}
	for i := range s.Nodes {
		if s.Nodes[i].State == well {
			wells.add(s.Nodes[i].Facts)
		}
	}
	all := tally{}
	for i := range s.Nodes {
		if s.Nodes[i].State == sick {
			all.add(s.Nodes[i].Facts)
		}
	}
	s.Common = traits(all, wells)
	for i := range s.Causes {
		of := tally{}
		for _, n := range s.Causes[i].Nodes {
			of.add(s.Nodes[n.node].Facts)
		}
		s.Causes[i].Common = traits(of, wells)
	}
}

// A tally counts nodes by the values of their facts.
type tally map[string]map[string]int

func (t tally) add(facts map[string]string) {
	for name, value := range facts {
		if t[name] == nil {
			t[name] = map[string]int{}
		}
		t[name][value]++
	}
}

// traits are the values that clearly more of the sick nodes have, by how many more.
func traits(sick, well tally) []Trait {
	found := []Trait{}
	lead := func(t Trait) float64 { return share(t.Sick, t.SickAll) - share(t.Well, t.WellAll) }
	for _, name := range slices.Sorted(maps.Keys(sick)) {
		known, wellKnown := total(sick[name]), total(well[name])
		if wellKnown == 0 || known < minSick {
			continue
		}
		for value, n := range sick[name] {
			if t := (Trait{name, value, n, known, well[name][value], wellKnown}); n >= minSick && lead(t) >= leastLead {
				found = append(found, t)
			}
		}
	}
	sorting.Stable(found, func(a, b Trait) int {
		return cmp.Or(cmp.Compare(lead(b), lead(a)), strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
	})
	return found[:min(len(found), maxTraits)]
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}
