package forensics

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
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
}

type edge struct{ effect, cause Entity }

func newGraph(m *Model, findings []Finding) *graph {
	g := &graph{
		model: m, findings: findings,
		causes: map[Entity][]Entity{}, effects: map[Entity][]Entity{}, subjects: map[Entity][]int{}, worst: map[Entity]int{},
		edges: map[edge]bool{}, explained: map[Entity]bool{}, longest: map[stretch]step{},
	}
	for i, f := range findings {
		g.subjects[f.Subject] = append(g.subjects[f.Subject], i)
		g.worst[f.Subject] = max(g.worst[f.Subject], f.Severity.Rank())
	}
	for _, f := range findings {
		because := Causes(m, f.Subject) // of itself
		bad := f.Subject.Kind == KindMount && len(because) > 0 && g.troubled(because[0])
		for _, cause := range f.Because {
			if !bad || cause.Kind != KindProcess {
				g.edge(f.Subject, cause)
			}
		}
		for _, cause := range because {
			g.edge(f.Subject, cause)
		}
		for _, effect := range stops(f.Subject) {
			g.edge(Entity{effect.Kind, g.name(effect)}, f.Subject)
		}
	}
	g.clear()
	return g
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

// Causes are the entities that explain e by what they are, not by a finding.
func Causes(m *Model, e Entity) []Entity {
	switch e.Kind {
	case KindGoroutine:
		id, err := strconv.ParseInt(e.ID, 10, 64)
		if j := m.ThreadOf(anyDump, id); err == nil && j != nil {
			return []Entity{ThreadEntity(j.Thread)}
		}
	case KindThread:
		if t, ok := threadByID(m, e.ID); ok {
			return waitedFor(m, t)
		}
	case KindProcess:
		return waitingThread(m, e.ID)
	case KindSuperblock:
		return servedBadly(m, e.ID)
	case KindMount:
		id, err := strconv.Atoi(e.ID)
		if mount, ok := m.Mount(id); err == nil && ok {
			return []Entity{{KindSuperblock, mount.Device}}
		}
	}
	return nil
}

// waitedFor is the mount that a thread waits for, or its superblock where the mount is one of another namespace. A
// thread that waits for something else is explained by no mount, nor one that waits for a server that answers others; one that
// waits for a lock there is, if another thread, which may hold it, waits for that mount.
func waitedFor(m *Model, t procs.Thread) []Entity {
	list := m.MountsOf(t.Device)
	if len(list) == 0 || !WaitsFor(t.Wait, list[0]) && !waitsBehind(m, t) {
		return detachedFor(m, t)
	}
	if m.Answered(t.Device) {
		return nil
	}
	if mount, ok := m.Mount(t.MountID); ok && mount.Device == t.Device {
		return []Entity{MountEntity(t.MountID)}
	}
	return []Entity{{KindSuperblock, t.Device}}
}

// detachedFor is the superblock of a FUSE file system that is in no mount table, where a thread waits for one and it is the
// only one that anybody waits for: then what lies at its path now is not what the thread is in.
func detachedFor(m *Model, t procs.Thread) []Entity {
	if device := m.uses.detachedFUSE; device != "" && t.Wait.Kind == procs.WaitFUSE {
		return []Entity{{KindSuperblock, device}}
	}
	return nil
}

// waitsBehind says whether a thread waits for a lock of a file system that another thread waits for.
func waitsBehind(m *Model, t procs.Thread) bool {
	return t.Wait.Kind == procs.WaitFSLock && m.index.waitedOn[t.Device]
}

// waitingThread is why a process does not get on: its thread that has waited longest for a file system.
func waitingThread(m *Model, id string) []Entity {
	pid, err := strconv.Atoi(id)
	if err != nil {
		return nil
	}
	var longest *procs.Thread
	most := -1.0
	for _, i := range m.index.threadsOf[pid] {
		t := &m.evidence.Threads[i]
		if t.Gone || len(waitedFor(m, *t)) == 0 {
			continue
		}
		if age, _ := m.Waited(*t); age > most {
			longest, most = t, age
		}
	}
	if longest == nil {
		return nil
	}
	return []Entity{ThreadEntity(*longest)}
}

// maxRoots is under how many root causes one finding stands. The others are named by the finding itself.
const maxRoots = 100

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

// diagnose groups the findings that are worse than info by their root cause.
func diagnose(m *Model, findings []Finding) []Diagnosis {
	g := newGraph(m, findings)
	members := map[Entity][]int{}
	var roots []Entity
	for i, f := range findings {
		if f.Severity.Rank() <= Info.Rank() {
			continue
		}
		for _, root := range g.roots(f.Subject) {
			if members[root] == nil {
				roots = append(roots, root)
			}
			members[root] = append(members[root], i)
		}
	}
	diagnoses := []Diagnosis{}
	others := together(roots, members)
	for _, root := range roots {
		if also, apart := others[root]; apart {
			diagnoses = append(diagnoses, g.diagnosis(root, also, members[root]))
		}
	}
	sorting.Stable(diagnoses, func(a, b Diagnosis) int {
		return cmp.Or(cmp.Compare(b.Severity.Rank(), a.Severity.Rank()), cmp.Compare(len(b.Chain), len(a.Chain)),
			cmp.Compare(len(b.Findings), len(a.Findings)), compareEntities(a.Root, b.Root))
	})
	return diagnoses
}

func (g *graph) diagnosis(root Entity, also []Entity, members []int) Diagnosis {
	chain := g.chain(root)
	head := g.headline(chain, members)
	pods := map[string]bool{}
	d := Diagnosis{
		Severity: head.Severity, Confidence: head.Confidence, ConfidenceWhy: head.ConfidenceWhy,
		Title: head.Title, Root: root, Chain: []Link{}, Pods: []AffectedPod{}, Findings: []int{}, Remedies: []Remedy{},
	}
	onChain := map[Entity]int{}
	for i, e := range chain {
		onChain[e] = i
		d.Chain = append(d.Chain, Link{e.Kind, e.ID, Describe(g.model, e)})
	}
	if len(also) > 0 {
		d.Chain[0].Text += ", and " + text.Plural(len(also), "other "+string(root.Kind)) + ": " + ids(also)
	}
	sorting.Stable(members, func(a, b int) int { // along the chain first, then in order
		return cmp.Compare(position(onChain, g.findings[a].Subject), position(onChain, g.findings[b].Subject))
	})
	for _, i := range members {
		f := g.findings[i]
		d.Findings = append(d.Findings, i)
		if _, on := onChain[f.Subject]; on {
			d.Since = earlier(d.Since, f.Since)
			if f.Severity == d.Severity && f.Confidence.rank() < d.Confidence.rank() {
				d.Confidence, d.ConfidenceWhy = f.Confidence, f.ConfidenceWhy
			}
		}
		d.addPods(g.model, pods, f.Pods)
		if f.Subject.Kind == KindPod {
			d.addPods(g.model, pods, []string{f.Subject.ID})
		}
	}
	d.Remedies = g.remedies(head, members)
	d.Paragraph = g.paragraph(d, head)
	return d
}

// ids lists the first few of entities.
func ids(list []Entity) string {
	const most = 5
	var names []string
	for _, e := range list[:min(len(list), most)] {
		names = append(names, e.ID)
	}
	if more := len(list) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func position(chain map[Entity]int, e Entity) int {
	if i, ok := chain[e]; ok {
		return i
	}
	return len(chain)
}

func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

func (d *Diagnosis) addPods(m *Model, listed map[string]bool, uids []string) {
	for _, uid := range uids {
		if !listed[uid] {
			listed[uid] = true
			d.Pods = append(d.Pods, m.Pod(uid))
		}
	}
}

// headline is the finding that gives the diagnosis its title: of the worst the one farthest from the root, since that
// is what people complain about, and its title names the cause.
func (g *graph) headline(chain []Entity, members []int) Finding {
	best, place := members[0], map[Entity]int{}
	for i, e := range chain {
		place[e] = i + 1
	}
	at := func(i int) int { return place[g.findings[i].Subject] }
	for _, i := range members[1:] {
		a, b := g.findings[i], g.findings[best]
		if c := cmp.Compare(a.Severity.Rank(), b.Severity.Rank()); c > 0 || c == 0 && at(i) > at(best) {
			best = i
		}
	}
	return g.findings[best]
}

// remedies are the headline's steps, then those of the others from the root on, each command once in a stage, stage by stage.
func (g *graph) remedies(head Finding, members []int) []Remedy {
	all := slices.Clone(head.Remedies)
	for _, i := range members {
		all = append(all, g.findings[i].Remedies...)
	}
	steps, taken := []Remedy{}, map[Remedy]bool{}
	for _, r := range all {
		if key := (Remedy{Command: r.Command, Stage: r.Stage}); !taken[key] {
			taken[key] = true
			steps = append(steps, r)
		}
	}
	sorting.Stable(steps, func(a, b Remedy) int { return cmp.Compare(a.Stage, b.Stage) })
	return steps
}

// paragraph tells the whole story in one piece.
func (g *graph) paragraph(d Diagnosis, head Finding) string {
	var b strings.Builder
	if name := g.model.evidence.Node.Name; name != "" {
		b.WriteString("Node " + name + ": ")
	}
	b.WriteString(strings.TrimSuffix(d.Title, ".") + ". ")
	if head.Detail != "" {
		b.WriteString(strings.TrimSpace(head.Detail) + " ")
	}
	if len(d.Chain) > 1 {
		b.WriteString("Cause chain: ")
		for i, link := range d.Chain {
			if i > 0 {
				b.WriteString(" → ")
			}
			b.WriteString(link.Text)
		}
		b.WriteString(". ")
	}
	if len(d.Pods) > 0 {
		b.WriteString("Pods affected: " + podList(d.Pods) + ". ")
	}
	b.WriteString("Confidence: " + string(d.Confidence))
	if d.ConfidenceWhy != "" {
		b.WriteString(" (" + d.ConfidenceWhy + ")")
	}
	b.WriteString(".")
	if len(d.Remedies) > 0 {
		b.WriteString(" First step: " + d.Remedies[0].Command + " — " + d.Remedies[0].Why)
	}
	return b.String()
}

func podList(pods []AffectedPod) string {
	const most = 5
	var names []string
	for _, p := range pods[:min(len(pods), most)] {
		names = append(names, p.String()+", "+p.State)
	}
	s := strings.Join(names, "; ")
	if len(pods) > most {
		s += "; and " + text.Plural(len(pods)-most, "more pod")
	}
	return s
}
