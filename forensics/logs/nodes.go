package logs

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/nodename"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// maxNodes bounds the nodes that are told apart; the lines of others are as lines that name none.
const maxNodes = 500

// A nodeNames lists nodes. A node may have several names: that of its host, with and without the domain, and that of its
// kubelet (--hostname-override).
type nodeNames struct {
	nodes [][]string
	known map[string]int // by the name as it was written; -1 is none
}

// of is the node that a line names in its prefix, -1 if it names none. One that is new is added if the prefix is beyond doubt.
func (n *nodeNames) of(e *entry) int {
	if e.Host == "" {
		return -1
	}
	if at, ok := n.known[e.Host]; ok || !e.HostSure {
		if !ok {
			at = -1
		}
		return at
	}
	return n.find(e.Host)
}

// find returns the node with a name, and adds it if it is new; -1 if it is no name of a node.
func (n *nodeNames) find(name string) int {
	if at, ok := n.known[name]; ok {
		return at
	}
	name = strings.Clone(name)
	at := -1
	if nodename.Is(name) {
		at = slices.IndexFunc(n.nodes, func(names []string) bool {
			return slices.ContainsFunc(names, func(other string) bool { return nodename.Same(name, other) })
		})
		switch {
		case at >= 0:
			n.nodes[at] = append(n.nodes[at], name)
		case len(n.nodes) < maxNodes:
			at = len(n.nodes)
			n.nodes = append(n.nodes, []string{name})
		}
	}
	if n.known == nil {
		n.known = map[string]int{}
	}
	if len(n.known) < 8*maxNodes {
		n.known[name] = at
	}
	return at
}

// add notes that a node has another name; one that is another node's stays with that.
func (n *nodeNames) add(at int, name string) {
	if _, ok := n.known[name]; ok || at < 0 || !nodename.Is(name) {
		return
	}
	name = strings.Clone(name)
	n.nodes[at] = append(n.nodes[at], name)
	n.known[name] = at
}

// ownNames find the name that a kubelet calls itself, in lines that no other program writes: its flag, the registration, the
// status, the lease and what it asks the API server for.
var ownNames = pattern.New(`--hostname-override=\\?"?([\w.-]+)|` +
	`(?:register(?:ed)? node"?|previously registered"?|event message for node"?|Setting node annotation[^"]*"|nodeName)[ =]+(?:node=)?\\?"?([\w.-]+)|` +
	`[Uu]nable to register node "?(?:with API server"? .*?node=)?\\?"?([\w.-]+)\\?"|` +
	`(?:metadata\.name|spec\.nodeName)(?:=|%3[dD])([\w.-]+)|` +
	`kube-node-lease/leases/([\w.-]+)|/api/v1/nodes/([\w.-]+)|` +
	`(?:getting|updating) node \\?"([\w.-]+)\\?"|^node "([\w.-]+)" not found`)

// ownNameWords are parts of all lines that have such a name: the search for them costs less than the expression.
var ownNameWords = []string{"egister", "nodeName", "/nodes/", "leases/", "ting node ", "ssage for node", "etting node annotation", "hostname-override", "etadata.name"}

func mayNameNode(line string) bool {
	return slices.ContainsFunc(ownNameWords, func(w string) bool { return strings.Contains(line, w) }) || strings.HasPrefix(line, `node "`)
}

// A nameCache has what lines of kubelets say of the name of their node, by what stands in them from the source file on: a kubelet in
// trouble says the same thing thousands of times.
type nameCache map[string]string

const (
	maxCachedNames = 4096 // lines
	maxCachedText  = 1024 // bytes of each
)

// ownName is the name of the node in a line of its kubelet; "" where the line has none.
func (t nameCache) ownName(e *entry) string {
	switch e.Source {
	case "kubelet.go", "kubelet_node_status.go", "controller.go", "reflector.go", "flags.go", "flag.go", "server.go", "kubelet_getters.go", "event.go":
	default:
		return ""
	}
	if !kubeletOrigin(e.Origin) {
		return ""
	}
	text := clip(e.Raw)
	if at := strings.Index(text, e.Source); at > 0 {
		text = text[at:]
	}
	name, known := t[text]
	switch {
	case len(text) > maxCachedText:
		return nameIn(clip(e.Raw))
	case !known:
		if len(t) >= maxCachedNames {
			clear(t)
		}
		name = strings.Clone(nameIn(clip(e.Raw)))
		t[strings.Clone(text)] = name
	}
	return name
}

func nameIn(text string) string {
	if !mayNameNode(text) {
		return ""
	}
	if len(text) > 4096 {
		text = text[:4096]
	}
	m := ownNames.FindStringSubmatch(text)
	for _, name := range m[min(len(m), 1):] {
		if name != "" && nodename.Is(name) {
			return strings.TrimRight(name, ".")
		}
	}
	return ""
}

// A span is the time in which a kubelet wrote the lines of a log that name no host.
type span struct {
	pid         int
	name        string // of its node, by its own words
	first, last time.Time
}

// identities are the nodes and the kubelets of one log.
type identities struct {
	names    nodeNames
	own      []string // names in lines of kubelets that name no host
	kubelets []span
	first    time.Time
}

// maxSpans bounds the kubelets that are told apart in one log.
const maxSpans = 32

// note takes a line into account.
func (id *identities) note(e *entry, known bool, cache nameCache) {
	if id.first.IsZero() {
		id.first = e.Time
	}
	name := ""
	if known || e.Host == "" {
		name = cache.ownName(e)
	}
	if at := id.names.of(e); at >= 0 {
		if name != "" {
			id.names.add(at, name)
		}
		return
	}
	if name != "" && !slices.Contains(id.own, name) && len(id.own) < maxNodes {
		id.own = append(id.own, strings.Clone(name))
	}
	if e.PID <= 1 || e.Source == "" || !kubeletOrigin(e.Origin) || !known && name == "" {
		return
	}
	i := slices.IndexFunc(id.kubelets, func(s span) bool { return s.pid == e.PID })
	if i < 0 {
		if len(id.kubelets) >= maxSpans {
			return
		}
		i = len(id.kubelets)
		id.kubelets = append(id.kubelets, span{pid: e.PID, first: e.Time, last: e.Time})
	}
	s := &id.kubelets[i]
	if name != "" && s.name == "" {
		s.name = strings.Clone(name)
	}
	if e.Time.Before(s.first) {
		s.first = e.Time
	}
	if e.Time.After(s.last) {
		s.last = e.Time
	}
}

// overlap says whether two kubelets wrote at the same time, as two of one node do not: the second is started when the first
// has ended.
func (s span) overlap(other span) bool {
	const late = 2 * time.Second // lines that came late
	if s.pid == other.pid || s.first.IsZero() || other.first.IsZero() {
		return false
	}
	return other.last.Sub(s.first) > late && s.last.Sub(other.first) > late
}

// differ says that the kubelets of a log are of different nodes, by the names that they give or by their times.
func (id *identities) differ() bool {
	for i, s := range id.kubelets {
		for _, other := range id.kubelets[:i] {
			named := s.name != "" && other.name != ""
			if named && !nodename.Same(s.name, other.name) || !named && s.overlap(other) {
				return true
			}
		}
	}
	return false
}
