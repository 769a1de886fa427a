package forensics

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
