package forensics

import (
	"fmt"
	"slices"
)

// graph is who is bad because of whom: the edges of the findings, and those that the model adds (a goroutine is bad
// because of its thread, a thread because of its mount, a mount because of its superblock, the kubelet because of a
// subsystem that all of it waits for). Who holds a mount does not explain it where its file system is bad itself: holders
// suffer from that like whoever waits for it.
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

// An explanation is a finding about many things below one of its root causes. Which of the things that cause explains differs.
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

// finding adds what a finding about an entity says, and what the model adds to it.
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

// dependencies are parts of the kubelet that stand still with others, whatever shows that they do (their health check, silence in the
// log, complaints): housekeeping is a step of the sync loop, which skips all pods while the PLEG is not healthy, and the PLEG
// lists what the runtime has (kubelet pkg/kubelet/kubelet.go, syncLoop; pkg/kubelet/pleg/generic.go). The first cause counts whose
// trouble is certain: what anybody can have written into a log is made the cause of nothing.
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

// clear takes the blame from file systems that nothing speaks against, where a mount has another cause or trouble of its
// own: one that is busy is so because of who holds it, known or not.
func (g *graph) clear() {
	cleared := map[edge]bool{}
	for e, causes := range g.causes {
		if e.Kind != KindMount || len(causes) < 2 && !g.troubled(e) {
			continue
		}
		g.causes[e] = slices.DeleteFunc(causes, func(c Entity) bool {
			innocent := c.Kind == KindSuperblock && len(g.subjects[c]) == 0 && len(g.causes[c]) == 0
			cleared[edge{e, c}] = innocent
			return innocent
		})
	}
	for c, effects := range g.effects {
		g.effects[c] = slices.DeleteFunc(effects, func(e Entity) bool { return cleared[edge{e, c}] })
	}
}

// stops says what stands still together with a subsystem: housekeeping runs on the sync loop's goroutine (kubelet
// pkg/kubelet/kubelet.go, syncLoopIteration), and without the sync loop the kubelet serves no pod.
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

// edge adds "effect is bad because of cause" once, and what explains the cause in turn.
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

// explain adds what explains an entity by what it is, once.
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

// explains says whether root already is an effect of e: an edge would close a circle. It is looked for from both ends in
// turn, an edge at a time: where one thing has thousands of causes or effects, the way from the other end soon ends.
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

// A search goes through the graph, depth first. Its ways are what is next to entities that it has been at.
type search struct {
	ways [][]Entity
	seen map[Entity]bool
}

// step visits one entity and says whether that is what is wanted, or that there is none left.
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

// maxRoots is under how many root causes one finding stands. The others are named by the finding itself.
const maxRoots = 100

// rootsOf are the root causes of what a finding is about, and what leads to each. Of things that are alike, all that nothing
// explains, that explain nothing and that the same findings are about are one root cause: the first of them.
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

// firstLike is the first thing of its kind about which the findings are that are about this one; those that are information are no
// matter, since they belong to no root cause.
func (g *graph) firstLike(e Entity) Entity {
	worse := slices.DeleteFunc(slices.Clone(g.subjects[e]), func(i int) bool { return g.findings[i].Severity.Rank() <= Info.Rank() })
	key := fmt.Sprint(e.Kind, worse)
	if _, known := g.first[key]; !known {
		g.first[key] = e
	}
	return g.first[key]
}

// roots are the entities at the end of all causes of e, the first of them if there are many; e itself if nothing explains it.
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
