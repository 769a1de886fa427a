package forensics

import (
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// graph has an edge from each effect to its causes. Findings have causes, and the model adds others: a goroutine's cause is its thread, a
// thread's its mount, a mount's its superblock, the kubelet's a subsystem that blocks all of it. A process that uses a mount is not its cause
// where the file system itself is bad: the process is affected like any that waits for it.
type graph struct {
	model     *Model
	findings  []Finding
	causes    map[Entity][]Entity
	effects   map[Entity][]Entity
	subjects  map[Entity][]int // findings by subject
	worst     map[Entity]int   // rank of the worst of those
	edges     map[edge]bool
	explained map[Entity]bool
	longest   map[stretch]step // see chain
	leads     map[explanation][]Entity
	first     map[string]Entity // see firstLike
}

type edge struct{ effect, cause Entity }

// An explanation is a finding about many things under one of its root causes. Each cause explains other things.
type explanation struct {
	root    Entity
	finding int
}

func newGraph(m *Model, findings []Finding) *graph {
	g := &graph{
		model: m, findings: findings,
		causes: map[Entity][]Entity{}, effects: map[Entity][]Entity{}, subjects: map[Entity][]int{}, worst: map[Entity]int{},
		edges: map[edge]bool{}, explained: map[Entity]bool{}, longest: map[stretch]step{}, leads: map[explanation][]Entity{}, first: map[string]Entity{},
	}
	for i, f := range findings {
		for _, e := range f.About() {
			g.subjects[e] = append(g.subjects[e], i)
			g.worst[e] = max(g.worst[e], f.Severity.Rank())
		}
	}
	for _, f := range findings {
		for _, e := range f.About() {
			g.finding(e, f.Because)
		}
	}
	for _, d := range dependencies(m) {
		if g.troubled(d.effect) && len(g.causes[d.effect]) == 0 && g.proven(d.cause) {
			g.edge(d.effect, d.cause)
		}
	}
	g.clear()
	return g
}

// finding adds the causes of a finding about an entity, and those that the model adds.
func (g *graph) finding(e Entity, because []Entity) {
	own := Causes(g.model, e)
	bad := e.Kind == KindMount && len(own) > 0 && g.troubled(own[0])
	for _, cause := range because {
		if !bad || cause.Kind != KindProcess {
			g.edge(e, cause)
		}
	}
	for _, cause := range own {
		g.edge(e, cause)
	}
	for _, effect := range stops(e) {
		g.edge(Entity{effect.Kind, g.name(effect)}, e)
	}
}

// dependencies are parts of the kubelet that stall together with others, whatever shows that (a health check, silence or messages in the
// log): housekeeping is a step of the sync loop, the sync loop skips all pods while PLEG is not healthy, and PLEG lists the runtime's
// containers (kubelet pkg/kubelet/kubelet.go, syncLoop; pkg/kubelet/pleg/generic.go). The first cause whose trouble is certain counts: a
// log line that any process can have written is no cause.
func dependencies(m *Model) []edge {
	subsystem := func(id string) Entity { return Entity{KindSubsystem, id} }
	return []edge{
		{subsystem("syncloop"), subsystem("housekeeping")},
		{subsystem("syncloop"), subsystem("start")},
		{subsystem("pleg"), m.RuntimeEntity()},
		{subsystem("syncloop"), subsystem("pleg")},
		{subsystem("syncloop"), m.RuntimeEntity()},
	}
}

// clear removes file systems without trouble as causes of mounts that have another cause or trouble of their own: a busy mount is busy
// because of what uses it, known or not.
func (g *graph) clear() {
	cleared := map[edge]bool{}
	for e, causes := range g.causes {
		if e.Kind != KindMount || len(causes) < 2 && !g.troubled(e) {
			continue
		}
		g.causes[e] = sorting.Delete(causes, func(c Entity) bool {
			innocent := c.Kind == KindSuperblock && len(g.subjects[c]) == 0 && len(g.causes[c]) == 0
			cleared[edge{e, c}] = innocent
			return innocent
		})
	}
	for c, effects := range g.effects {
		g.effects[c] = sorting.Delete(effects, func(e Entity) bool { return cleared[edge{e, c}] })
	}
}

// stops says what stalls together with a subsystem: housekeeping runs on the sync loop's goroutine (kubelet pkg/kubelet/kubelet.go,
// syncLoopIteration), and without the sync loop the kubelet manages no pod.
func stops(e Entity) []Entity {
	if e.Kind != KindSubsystem {
		return nil
	}
	switch e.ID {
	case "housekeeping", "syncloop", "start":
		return []Entity{{KindKubelet, ""}}
	}
	return nil
}

func (g *graph) name(e Entity) string {
	if e.Kind == KindKubelet && e.ID == "" {
		return g.model.KubeletEntity().ID
	}
	return e.ID
}

// edge adds a cause of an effect once, and the causes of that cause.
func (g *graph) edge(effect, cause Entity) {
	if effect == cause || g.edges[edge{effect, cause}] || g.explains(effect, cause) {
		return
	}
	g.edges[edge{effect, cause}] = true
	g.causes[effect] = append(g.causes[effect], cause)
	g.effects[cause] = append(g.effects[cause], effect)
	g.explain(cause)
	g.explain(effect)
}

// explain adds the causes that an entity has by its nature, once.
func (g *graph) explain(e Entity) {
	if g.explained[e] {
		return
	}
	g.explained[e] = true
	for _, deeper := range Causes(g.model, e) {
		g.edge(e, deeper)
	}
}

// troubled says whether a finding worse than information is about an entity.
func (g *graph) troubled(e Entity) bool {
	return g.worst[e] > Info.Rank()
}

// proven says whether a finding worse than information about an entity is certain.
func (g *graph) proven(e Entity) bool {
	return slices.ContainsFunc(g.subjects[e], func(i int) bool {
		return g.findings[i].Severity.Rank() > Info.Rank() && g.findings[i].Confidence == Certain
	})
}

// explains says whether root already is an effect of e: an edge would close a circle. The search alternates between both ends, one edge at
// a time: where one thing has thousands of causes or effects, the search from the other end soon ends.
func (g *graph) explains(e, root Entity) bool {
	up, down := search{ways: [][]Entity{g.causes[root]}}, search{ways: [][]Entity{g.effects[e]}}
	for {
		if found, end := up.step(g.causes, e); found || end {
			return found
		}
		if found, end := down.step(g.effects, root); found || end {
			return found
		}
	}
}

// A search is a depth-first search through the graph. Its ways are the neighbours of visited entities.
type search struct {
	ways [][]Entity
	seen map[Entity]bool
}

// step visits one entity and says whether it is the wanted one, or that none remains.
func (s *search) step(next map[Entity][]Entity, want Entity) (found, end bool) {
	for len(s.ways) > 0 && len(s.ways[len(s.ways)-1]) == 0 {
		s.ways = s.ways[:len(s.ways)-1]
	}
	if len(s.ways) == 0 {
		return false, true
	}
	top := &s.ways[len(s.ways)-1]
	at := (*top)[0]
	*top = (*top)[1:]
	if s.seen == nil {
		s.seen = map[Entity]bool{}
	}
	if !s.seen[at] {
		s.seen[at] = true
		s.ways = append(s.ways, next[at])
	}
	return at == want, false
}

// maxRoots is how many root causes list one finding. The finding itself names the others.
const maxRoots = 100

// rootsOf are the root causes of a finding's subjects, and the subjects of each. Subjects of one kind without causes and effects, about which
// the same findings are, are one root cause: the first of them.
func (g *graph) rootsOf(f Finding) (roots []Entity, from map[Entity][]Entity) {
	from = map[Entity][]Entity{}
	for _, e := range f.About() {
		found := []Entity{e}
		if len(g.causes[e])+len(g.effects[e]) > 0 {
			found = g.roots(e)
		} else if len(f.Subjects) > 0 {
			found = []Entity{g.firstLike(e)}
		}
		for _, root := range found {
			if from[root] == nil {
				if len(roots) == maxRoots {
					continue
				}
				roots = append(roots, root)
			}
			from[root] = append(from[root], e)
		}
	}
	return roots, from
}

// firstLike is the first thing of the same kind with the same findings, information left out because it belongs to no root cause.
func (g *graph) firstLike(e Entity) Entity {
	worse := sorting.Delete(slices.Clone(g.subjects[e]), func(i int) bool { return g.findings[i].Severity.Rank() <= Info.Rank() })
	key := fmt.Sprint(e.Kind, worse)
	if _, known := g.first[key]; !known {
		g.first[key] = e
	}
	return g.first[key]
}

// roots are the last causes of e, the first of them if there are many; e itself if it has no cause.
func (g *graph) roots(e Entity) []Entity {
	var found []Entity
	seen := map[Entity]bool{}
	var walk func(Entity)
	walk = func(at Entity) {
		if seen[at] || len(found) == maxRoots {
			return
		}
		seen[at] = true
		if len(g.causes[at]) == 0 {
			found = append(found, at)
		}
		for _, cause := range g.causes[at] {
			walk(cause)
		}
	}
	walk(e)
	return found
}

// A stretch is the rest of a path through the graph, from an entity on; worst is the rank of the worst finding before it.
type stretch struct {
	from  Entity
	worst int
}

// A step is the best next entity of a stretch, and the value of the stretch with it.
type step struct {
	next   Entity
	more   bool // there is a next one
	worst  int
	length int
}

// weight prefers paths that reach the worst finding, then long ones.
func (s step) weight() int { return s.worst*1000 + s.length }
