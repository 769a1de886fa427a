package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Summary joins what was read. More can be read after it.
func (r *Reader) Summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Summary{Schema: schema, Causes: []Cause{}, Common: []Trait{}, Nodes: []Node{}, NotExamined: slices.Clone(r.missing), Notes: []string{}}
	if s.NotExamined == nil {
		s.NotExamined = []Missing{}
	}
	reports := slices.Clone(r.reports)
	for i := range reports {
		reports[i].name = cmp.Or(reports[i].name, "unknown node ("+reports[i].file+")")
	}
	sorting.Stable(reports, func(a, b entry) int { return compareNames(a.name, b.name) })
	groups := map[string]*Cause{}
	for i := range reports {
		s.addNode(&reports[i], r.api)
		for j := range reports[i].diagnoses {
			d := &reports[i].diagnoses[j]
			key := joinKey(d.Identity, &reports[i])
			if groups[key] == nil {
				groups[key] = &Cause{Identity: d.Identity}
			}
			groups[key].add(d, i, reports[i].name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		groups[key].finish()
		s.Causes = append(s.Causes, *groups[key])
	}
	sorting.Stable(s.Causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Severity.Rank(), a.Severity.Rank()), cmp.Compare(len(b.Nodes), len(a.Nodes)), strings.Compare(a.Title, b.Title))
	})
	for i := range s.Causes {
		for _, n := range s.Causes[i].Nodes {
			s.Nodes[n.node].Causes = append(s.Nodes[n.node].Causes, i)
		}
	}
	s.compare()
	s.addMissing(r)
	s.addNotes(r, reports)
	return s
}

// placeholder begins what a masked name was replaced by. Its digest is of a key that each run makes anew, unless it was told one.
const placeholder = "[masked:"

// maskedName is what --redact strict leaves of a name. Its digest is long enough that no two names have one by chance, whatever the key.
var maskedName = pattern.New(`\b(ip|host|ns|pod)-[0-9a-f]{8}\b`)

// joinKey is the same for causes that are joined. What only a masked name identifies is joined within a key: equal placeholders of two keys
// mean nothing.
func joinKey(id forensics.Identity, r *entry) string {
	key := string(id.Kind) + "\x00" + id.ID
	if strings.Contains(id.ID, placeholder) {
		key += "\x00" + r.key
		if r.key == "" {
			key += "\x00" + r.name + "\x00" + r.file
		}
	}
	switch {
	case id.Shared && id.ID != "":
		return key
	default:
		return key + "\x00" + id.Check
	}
}

// add adds a root cause of a node; a node has a cause once.
func (c *Cause) add(d *diagnosis, node int, name string) {
	if n := len(c.Nodes); n == 0 || c.Nodes[n-1].node != node {
		c.Nodes = append(c.Nodes, Sighting{Node: name, Check: d.Check, Severity: d.severity, Title: d.title, Since: d.since, Pods: d.pods, trouble: d.Trouble, fix: d.fix, node: node})
	} else {
		last := &c.Nodes[n-1]
		last.Pods += d.pods
		if d.severity.Rank() > last.Severity.Rank() {
			last.Severity, last.Title, last.Check, last.trouble, last.fix = d.severity, d.title, d.Check, d.Trouble, d.fix
		}
		if last.Since == nil || d.since != nil && d.since.Before(*last.Since) {
			last.Since = d.since
		}
	}
	if d.Name != "" && !slices.Contains(c.Names, d.Name) && len(c.Names) < maxNames {
		c.Names = append(c.Names, d.Name)
	}
	c.Pods += d.pods
	if d.severity.Rank() > c.Severity.Rank() {
		c.Severity = d.severity
	}
}

// maxNames is how many names of one thing are listed.
const maxNames = 100

// finish says what is so of all nodes together.
func (c *Cause) finish() {
	sorting.Stable(c.Nodes, func(a, b Sighting) int {
		switch {
		case a.Since == nil || b.Since == nil:
			return cmp.Compare(boolInt(a.Since == nil), boolInt(b.Since == nil))
		default:
			return a.Since.Compare(*b.Since)
		}
	})
	if first := c.Nodes[0]; first.Since != nil {
		c.Since, c.FirstNode = first.Since, first.Node
	}
	counts := map[string]int{}
	for _, n := range c.Nodes {
		counts[n.Check] += 1 + n.Severity.Rank()*len(c.Nodes) // a worse one comes first
	}
	c.Checks = slices.Sorted(maps.Keys(counts))
	sorting.Stable(c.Checks, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	c.Checks = sorting.Delete(c.Checks, func(s string) bool { return s == "" })
	if len(c.Checks) == 0 {
		c.Checks = []string{}
	}
	for _, n := range c.Nodes {
		if len(c.Checks) > 0 && n.Check == c.Checks[0] {
			c.Identity.Check, c.Identity.Trouble = n.Check, cmp.Or(n.trouble, c.Identity.Trouble)
			break
		}
	}
	slices.Sort(c.Names)
	if len(c.Names) < 2 {
		c.Names = []string{}
	}
	c.Common = []Trait{}
	c.Title, c.Doubt = title(c), doubt(c)
	if fix := c.Nodes[0].fix; c.Doubt == "" && !slices.ContainsFunc(c.Nodes, func(n Sighting) bool { return n.fix != fix }) { // not what one node says for others
		c.Fix = fix
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *Summary) addNode(e *entry, api map[string]apiNode) {
	n := Node{Name: e.name, File: e.file, Page: e.page, Collected: e.collected, Made: e.made, NotMade: e.notMade, Cut: e.cut, Causes: []int{}, Facts: map[string]string{}}
	for name, value := range e.facts {
		n.Facts[name] = normal(name, value)
	}
	known, ok := api[e.name]
	if !ok {
		known = api[e.alias]
	}
	for name, value := range known.facts {
		n.Facts[name] = normal(name, value)
	}
	switch {
	case len(e.diagnoses)+e.more > 0:
		n.State = sick
		s.Sick++
	case e.problems == 0 && e.cut == "" && !e.unanswered && e.made > 0 && e.notMade <= e.made:
		n.State = well
		s.Well++
	default:
		n.State = unclear
		s.Unclear++
	}
	s.From, s.To = earliest(s.From, e.collected), latest(s.To, e.collected)
	s.Nodes = append(s.Nodes, n)
}

// normal writes a fact of a report and one of the API server in the same way.
func normal(name, value string) string {
	switch name {
	case "kubelet":
		return strings.TrimPrefix(value, "v")
	case "runtime":
		return strings.Replace(value, "://", " ", 1)
	}
	return value
}

func earliest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

func latest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}

// addMissing adds nodes of the API server without a report, and reports that are not whole.
func (s *Summary) addMissing(r *Reader) {
	have := map[string]bool{}
	for i := range r.reports {
		have[r.reports[i].name], have[r.reports[i].alias] = true, true
	}
	for i := range r.missing {
		have[r.missing[i].Node] = true
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Cut != "" {
			s.NotExamined = append(s.NotExamined, Missing{Node: n.Name, File: n.File, Reason: "only in part: " + n.Cut, Part: true})
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(r.api), compareNames) {
		if !have[name] {
			s.NotExamined = append(s.NotExamined, Missing{Node: name, Reason: "no report"})
		}
	}
	s.NodesKnown = countNodes(s, r)
	sorting.Stable(s.NotExamined, func(a, b Missing) int {
		return cmp.Or(boolInt(a.Node == "")-boolInt(b.Node == ""), compareNames(a.Node, b.Node), compareNames(a.File, b.File)) // nodes before files
	})
	for i := range s.NotExamined { // the list of nodes may explain why
		if m := &s.NotExamined[i]; r.api[m.Node].notReady != "" {
			m.Reason += "; by the API server the node was " + r.api[m.Node].notReady
		}
	}
}

// countNodes counts the nodes with a report, and those without one.
func countNodes(s *Summary, r *Reader) int {
	without := map[string]bool{}
	for i := range s.NotExamined {
		without[s.NotExamined[i].Node] = true
	}
	delete(without, "")        // a file
	for i := range r.reports { // only in part, or in an earlier round
		delete(without, r.reports[i].name)
		delete(without, r.reports[i].alias)
	}
	return len(s.Nodes) + len(without)
}

func (s *Summary) addNotes(r *Reader, reports []entry) {
	note := func(n int, format string, args ...any) {
		if n > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
		}
	}
	n, old, masked, more := len(r.older), 0, 0, 0
	for i := range reports {
		more += reports[i].more
		isOld, isMasked := false, false
		for _, d := range reports[i].diagnoses {
			isOld = isOld || d.Trouble == "" && d.ID == ""
			isMasked = isMasked || reports[i].key == "" && (strings.Contains(d.ID, placeholder) || maskedName.MatchString(d.ID))
		}
		old, masked = old+boolInt(isOld), masked+boolInt(isMasked)
	}
	note(n, "%s: the newest report counts, %d older not", plural(n, "node has several reports", "nodes have several reports"), total(r.older))
	note(old, "%s of an earlier version: run nodeforensics analyze on them to join their causes by server", plural(old, "report is", "reports are"))
	note(masked, "%s masked names without a common key: causes that only a masked name identifies are not joined; see --redact-key", plural(masked, "report has", "reports have"))
	note(more, "%s not read: a report has more than %d", text.Plural(more, "root cause"), maxDiagnoses)
	note(r.dropped, "%d more files or nodes without a report are not listed", r.dropped)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// compareNames orders names with numbers: worker-7 before worker-10.
func compareNames(a, b string) int {
	for i, j := 0, 0; ; {
		switch {
		case i == len(a) || j == len(b):
			return cmp.Or(cmp.Compare(len(a)-i, len(b)-j), strings.Compare(a, b))
		case isDigit(a[i]) && isDigit(b[j]):
			m, n := digits(a[i:]), digits(b[j:])
			x, y := strings.TrimLeft(a[i:i+m], "0"), strings.TrimLeft(b[j:j+n], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
				return c
			}
			i, j = i+m, j+n
		case a[i] != b[j]:
			return cmp.Compare(a[i], b[j])
		default:
			i, j = i+1, j+1
		}
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func digits(s string) (n int) {
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}
