package forensics

// A stretch is the rest of a way through the graph, from an entity on, behind a part whose worst finding has a rank.
type stretch struct {
	from  Entity
	worst int
}

// A step is the best next entity of a stretch, and what the stretch is worth with it.
type step struct {
	next   Entity
	more   bool // there is a next one
	worst  int
	length int
}

// weight prefers ways that reach the worst finding, then long ones.
func (s step) weight() int { return s.worst*1000 + s.length }

// chain is the longest way from a root to a symptom; among equally long ones the one that comes first in the order of
// the findings, which is that of severity.
func (g *graph) chain(root Entity) []Entity {
	chain := []Entity{root}
	at := stretch{root, 0}
	for s := g.best(at); s.more; s = g.best(at) {
		at = stretch{s.next, max(at.worst, g.worst[at.from])}
		chain = append(chain, s.next)
	}
	return chain
}

// best finds the best way on, once for each entity and each rank of what is behind it: there may be many ways.
func (g *graph) best(at stretch) step {
	if known, ok := g.longest[at]; ok {
		return known
	}
	best := step{worst: max(at.worst, g.worst[at.from]), length: 1}
	for _, effect := range g.effects[at.from] {
		on := g.best(stretch{effect, max(at.worst, g.worst[at.from])})
		if on.length++; on.weight() > best.weight() {
			best = step{effect, true, on.worst, on.length}
		}
	}
	g.longest[at] = best
	return best
}
