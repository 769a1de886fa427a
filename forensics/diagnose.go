package forensics

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/sorting"
)

// graph is who is bad because of whom: the edges of the findings, and those that the model adds (a goroutine is bad
// because of its thread, a thread because of its mount, a mount because of its superblock, the kubelet because of a
// subsystem that all of it waits for). Who holds a mount does not explain it where its file system is bad itself: holders
// suffer from that like whoever waits for it.
type graph struct {
	model    *Model
	findings []Finding
	causes   map[Entity][]Entity
	effects  map[Entity][]Entity
	subjects map[Entity][]int // findings by subject
}

func newGraph(m *Model, findings []Finding) *graph {
	g := &graph{
		model: m, findings: findings,
		causes: map[Entity][]Entity{}, effects: map[Entity][]Entity{}, subjects: map[Entity][]int{},
	}
	for i, f := range findings {
		g.subjects[f.Subject] = append(g.subjects[f.Subject], i)
	}
	for _, f := range findings {
		because := m.Causes(f.Subject) // of itself
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
	for e, causes := range g.causes {
		if e.Kind != KindMount || len(causes) < 2 && !g.troubled(e) {
			continue
		}
		g.causes[e] = slices.DeleteFunc(causes, func(c Entity) bool {
			innocent := c.Kind == KindSuperblock && len(g.subjects[c]) == 0 && len(g.causes[c]) == 0
			if innocent {
				g.effects[c] = slices.DeleteFunc(g.effects[c], func(x Entity) bool { return x == e })
			}
			return innocent
		})
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
	if effect == cause || slices.Contains(g.causes[effect], cause) || g.explains(effect, cause) {
		return
	}
	g.causes[effect] = append(g.causes[effect], cause)
	g.effects[cause] = append(g.effects[cause], effect)
	for _, deeper := range g.model.Causes(cause) {
		g.edge(cause, deeper)
	}
	for _, deeper := range g.model.Causes(effect) {
		g.edge(effect, deeper)
	}
}

// troubled says whether a finding worse than information is about an entity.
func (g *graph) troubled(e Entity) bool {
	return slices.ContainsFunc(g.subjects[e], func(i int) bool { return g.findings[i].Severity.Rank() > Info.Rank() })
}

// explains says whether root already is an effect of e: an edge would close a circle.
func (g *graph) explains(e, root Entity) bool {
	seen := map[Entity]bool{}
	var walk func(Entity) bool
	walk = func(at Entity) bool {
		if at == e {
			return true
		}
		if seen[at] {
			return false
		}
		seen[at] = true
		return slices.ContainsFunc(g.causes[at], walk)
	}
	return walk(root)
}

// Causes are the entities that explain e by what they are, not by a finding.
func (m *Model) Causes(e Entity) []Entity {
	switch e.Kind {
	case KindGoroutine:
		for _, j := range m.joins {
			if GoroutineEntity(j.Goroutine) == e {
				return []Entity{ThreadEntity(j.Thread)}
			}
		}
	case KindThread:
		if t, ok := m.threadByID(e.ID); ok {
			return m.waitedFor(t)
		}
	case KindProcess:
		return m.waitingThread(e.ID)
	case KindSuperblock:
		return m.servedBadly(e.ID)
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
func (m *Model) waitedFor(t procs.Thread) []Entity {
	list := m.MountsOf(t.Device)
	if len(list) == 0 || !WaitsFor(t.Wait, list[0]) && !m.waitsBehind(t, list[0]) {
		return m.detachedFor(t)
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
func (m *Model) detachedFor(t procs.Thread) []Entity {
	if h := m.evidence.Held; h != nil && t.Wait.Kind == procs.WaitFUSE {
		for _, s := range h.Servers {
			if s.Detached && s.OnlyWaiting {
				return []Entity{{KindSuperblock, s.Device}}
			}
		}
	}
	return nil
}

// waitsBehind says whether a thread waits for a lock of a file system that another thread waits for.
func (m *Model) waitsBehind(t procs.Thread, mount mounts.Mount) bool {
	for i := range m.evidence.Threads {
		other := &m.evidence.Threads[i]
		if t.Wait.Kind == procs.WaitFSLock && other.Device == t.Device && !other.Gone && WaitsFor(other.Wait, mount) {
			return true
		}
	}
	return false
}

// roots are the entities at the end of all causes of e; e itself if nothing explains it.
func (g *graph) roots(e Entity) []Entity {
	var found []Entity
	seen := map[Entity]bool{}
	var walk func(Entity)
	walk = func(at Entity) {
		if seen[at] {
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

// together puts processes that explain nothing but what another one explains, too, beside that one: what ten processes hold
// is one thing that is wrong. The steps for all of them are in the same findings. Of each root that stands for itself it
// gives the others.
func together(roots []Entity, members map[Entity][]int) map[Entity][]Entity {
	within := func(a, b Entity) bool {
		return !slices.ContainsFunc(members[a], func(i int) bool { return !slices.Contains(members[b], i) })
	}
	var heads []Entity
	for i, root := range roots {
		beside := false
		for j, other := range roots {
			beside = beside || i != j && root.Kind == KindProcess && other.Kind == KindProcess && within(root, other) && (j < i || !within(other, root))
		}
		if !beside {
			heads = append(heads, root)
		}
	}
	found := map[Entity][]Entity{}
	for _, head := range heads {
		found[head] = nil
	}
	for _, root := range roots {
		if _, apart := found[root]; apart {
			continue
		}
		at := slices.IndexFunc(heads, func(head Entity) bool { return head.Kind == KindProcess && within(root, head) })
		found[heads[at]] = append(found[heads[at]], root)
	}
	return found
}

func (g *graph) diagnosis(root Entity, also []Entity, members []int) Diagnosis {
	chain := g.chain(root)
	head := g.headline(chain, members)
	d := Diagnosis{
		Severity: head.Severity, Confidence: head.Confidence, ConfidenceWhy: head.ConfidenceWhy,
		Title: head.Title, Root: root, Chain: []Link{}, Pods: []AffectedPod{}, Findings: []int{}, Remedies: []Remedy{},
	}
	onChain := map[Entity]bool{}
	for _, e := range chain {
		onChain[e] = true
		d.Chain = append(d.Chain, Link{e.Kind, e.ID, g.model.Describe(e)})
	}
	if len(also) > 0 {
		d.Chain[0].Text += ", and " + Plural(len(also), "other process") + ": " + ids(also)
	}
	sorting.Stable(members, func(a, b int) int { // along the chain first, then in order
		return cmp.Compare(position(chain, g.findings[a].Subject), position(chain, g.findings[b].Subject))
	})
	for _, i := range members {
		f := g.findings[i]
		d.Findings = append(d.Findings, i)
		if onChain[f.Subject] {
			d.Since = earlier(d.Since, f.Since)
			if f.Severity == d.Severity && f.Confidence.rank() < d.Confidence.rank() {
				d.Confidence, d.ConfidenceWhy = f.Confidence, f.ConfidenceWhy
			}
		}
		d.addPods(g.model, f.Pods)
		if f.Subject.Kind == KindPod {
			d.addPods(g.model, []string{f.Subject.ID})
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

func position(chain []Entity, e Entity) int {
	if i := slices.Index(chain, e); i >= 0 {
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

func (d *Diagnosis) addPods(m *Model, uids []string) {
	for _, uid := range uids {
		if !slices.ContainsFunc(d.Pods, func(p AffectedPod) bool { return p.UID == uid }) {
			d.Pods = append(d.Pods, m.Pod(uid))
		}
	}
}

// chain is the longest way from a root to a symptom; among equally long ones the one that comes first in the order of
// the findings, which is that of severity.
func (g *graph) chain(root Entity) []Entity {
	var best []Entity
	var walk func(path []Entity)
	walk = func(path []Entity) {
		at := path[len(path)-1]
		if g.weight(path) > g.weight(best) {
			best = slices.Clone(path)
		}
		for _, effect := range g.effects[at] {
			walk(append(path, effect))
		}
	}
	walk([]Entity{root})
	return best
}

// weight prefers ways that reach the worst finding, then long ones.
func (g *graph) weight(path []Entity) int {
	worst := 0
	for _, e := range path {
		for _, i := range g.subjects[e] {
			worst = max(worst, g.findings[i].Severity.Rank())
		}
	}
	return worst*1000 + len(path)
}

// headline is the finding that gives the diagnosis its title: of the worst the one farthest from the root, since that
// is what people complain about, and its title names the cause.
func (g *graph) headline(chain []Entity, members []int) Finding {
	best := members[0]
	at := func(i int) int {
		if p := slices.Index(chain, g.findings[i].Subject); p >= 0 {
			return p
		}
		return -1
	}
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
	steps := []Remedy{}
	for _, r := range all {
		if !slices.ContainsFunc(steps, func(s Remedy) bool { return s.Command == r.Command && s.Stage == r.Stage }) {
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
		s += "; and " + Plural(len(pods)-most, "more pod")
	}
	return s
}
