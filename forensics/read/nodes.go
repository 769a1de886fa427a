package read

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/nodename"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

var (
	// gathered is where must-gather has a node's name (nodes/NAME/NAME_logs_kubelet.gz), and sosName where sos has it
	// (sosreport-NAME-LABEL-DATE-RANDOM).
	gathered = pattern.New(`(?:^|[/:])nodes/([^/:]+)/([^/:]+)$`)
	sosName  = pattern.New(`(?:^|[/:])sosreport-([^/:]+?)(?:-\d+)?-\d{4}-\d\d-\d\d-[^/:]*[/:]`)
	// nodeOfPods is where the kubelet's list of pods has it.
	nodeOfPods = pattern.New(`"nodeName"\s*:\s*"([^"]+)"`)
)

// nodeOf is the node that a file names in its path, or, if it is the kubelet's list of pods, in its beginning.
func nodeOf(path string, head []byte) string {
	if m := gathered.FindStringSubmatch(path); m != nil && nodename.Is(m[1]) && nodename.InFile(m[2], m[1]) {
		return m[1]
	}
	if m := sosName.FindStringSubmatch(path); m != nil && nodename.Is(m[1]) {
		return m[1]
	}
	if head = bytes.TrimLeft(head, blanks); bytes.HasPrefix(head, []byte("{")) && podList.Match(head) && !bytes.Contains(head, []byte(`"resourceVersion"`)) {
		if m := nodeOfPods.FindSubmatch(head); m != nil {
			return string(m[1])
		}
	}
	return ""
}

// A nodeEvidence is what the files say of one node.
type nodeEvidence struct {
	names []string
	forensics.Evidence
	system systemText
}

// take adds what a file says.
func (n *nodeEvidence) take(p part) {
	n.Merge(p.Evidence)
	n.system.take(p.system)
}

// whole joins what tools of the system have printed, and is the evidence then.
func (n *nodeEvidence) whole() forensics.Evidence {
	n.setName()
	n.system.addTo(&n.Evidence)
	return n.Evidence
}

func (n *nodeEvidence) is(name string) bool {
	return slices.ContainsFunc(n.names, func(other string) bool { return other == name || nodename.Same(other, name) })
}

func newNodeEvidence(names ...string) *nodeEvidence {
	e := forensics.NewEvidence()
	e.Root, e.Schema = "saved files", forensics.EvidenceSchema
	return &nodeEvidence{names: names, Evidence: e}
}

// byNode puts together what the files say, each node's apart.
func (r *reader) byNode() []forensics.Evidence {
	nodes := r.nodes()
	find := func(name string) *nodeEvidence {
		i := slices.IndexFunc(nodes, func(n *nodeEvidence) bool { return name != "" && n.is(name) })
		if i < 0 {
			return nil
		}
		return nodes[i]
	}
	if len(nodes) < 2 {
		all := newNodeEvidence()
		if len(nodes) == 1 {
			all = nodes[0]
		}
		for _, p := range r.parts {
			all.take(p)
		}
		for _, s := range r.stories {
			all.addStory(s)
		}
		return []forensics.Evidence{all.whole()}
	}
	rest := newNodeEvidence()
	for _, p := range r.parts {
		n := find(p.node)
		if n == nil {
			n = find(nodeInPath(nodes, p.file))
		}
		switch {
		case n != nil:
			n.take(p)
		case p.Cluster != nil:
			shareObjects(p, nodes, rest)
		default:
			rest.take(p)
		}
	}
	for _, s := range r.stories {
		if n := find(s.Node); n != nil {
			n.addStory(s)
		} else {
			rest.addStory(s)
		}
	}
	var all []forensics.Evidence
	for _, n := range nodes {
		all = append(all, n.whole())
	}
	sorting.Stable(all, func(a, b forensics.Evidence) int { return cmp.Compare(onlyListed(a), onlyListed(b)) })
	rest.system.addTo(&rest.Evidence)
	if len(rest.Coverage) > 0 {
		all = append(all, rest.Evidence)
	}
	return all
}

// onlyListed is 1 for a node of which only the API server tells, as a row in a list of nodes does: one of which there is a log or what a tool has
// printed comes before it.
func onlyListed(e forensics.Evidence) int {
	if e.Logs == nil || e.Logs.Loop != nil || len(e.Logs.Lives) > 0 || len(e.Mounts.Mounts)+len(e.Threads)+len(e.Dumps)+len(e.PodDirs)+len(e.Processes) > 0 || e.Kubelet != nil ||
		slices.ContainsFunc(e.Logs.Events, func(e logs.Event) bool { return e.Kind.Lane() == logs.LaneKernel }) {
		return 0
	}
	return 1
}

// nodes are those that were found.
func (r *reader) nodes() []*nodeEvidence {
	var nodes []*nodeEvidence
	for _, p := range r.parts {
		if p.node != "" && !slices.ContainsFunc(nodes, func(n *nodeEvidence) bool { return n.is(p.node) }) {
			nodes = append(nodes, newNodeEvidence(p.node))
		}
	}
	for _, s := range r.stories {
		if s.Node == "" {
			continue
		}
		i := slices.IndexFunc(nodes, func(n *nodeEvidence) bool { return slices.ContainsFunc(s.Names, n.is) })
		if i < 0 {
			i = len(nodes)
			nodes = append(nodes, newNodeEvidence())
		}
		nodes[i].names = append(nodes[i].names, s.Names...)
	}
	return nodes
}

// nodeInPath is the node whose name is part of a path, "" if none is.
func nodeInPath(nodes []*nodeEvidence, path string) string {
	for part := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == ':' || c == '\\' }) {
		for _, n := range nodes {
			for _, name := range n.names {
				if nodename.InFile(part, name) {
					return name
				}
			}
		}
	}
	return ""
}

func (n *nodeEvidence) addStory(s logs.Story) {
	if len(s.Files) > 0 {
		e, _ := Logs(s)
		n.Merge(e)
	}
}

// setName gives the node a name, as the API has it: it is compared with those of objects. If they are of other nodes, too, the
// name stays away, so that all of them are judged.
func (n *nodeEvidence) setName() {
	if n.Node.Name != "" || len(n.names) == 0 {
		return
	}
	name := n.names[0]
	if n.Cluster != nil {
		for _, o := range n.Cluster.Nodes {
			if n.is(o.Name) {
				name = o.Name
			}
		}
		for _, p := range n.Cluster.Pods {
			switch {
			case p.Node == "":
			case !n.is(p.Node):
				return
			default:
				name = p.Node
			}
		}
	}
	n.Node.Name = name
}

// shareObjects gives each node its pods, with their claims, and the rest what is of none of them.
func shareObjects(p part, nodes []*nodeEvidence, rest *nodeEvidence) {
	objects := p.Cluster
	owner := func(name string) *nodeEvidence {
		for _, n := range nodes {
			if name != "" && n.is(name) {
				return n
			}
		}
		return rest
	}
	shares := map[*nodeEvidence]*apidump.Dump{}
	claims := map[string][]*nodeEvidence{}
	share := func(n *nodeEvidence) *apidump.Dump {
		if shares[n] == nil {
			d := *objects
			d.Pods, d.Nodes, d.Claims, d.Volumes = []apidump.Pod{}, []apidump.Node{}, []apidump.Claim{}, []apidump.Volume{}
			d.Kinds = maps.Clone(objects.Kinds)
			shares[n] = &d
		}
		return shares[n]
	}
	for _, pod := range objects.Pods {
		n := owner(pod.Node)
		d := share(n)
		d.Pods = append(d.Pods, pod)
		for _, c := range pod.Claims {
			if name := pod.Namespace + "/" + c; !slices.Contains(claims[name], n) {
				claims[name] = append(claims[name], n)
			}
		}
	}
	for _, node := range objects.Nodes {
		d := share(owner(node.Name))
		d.Nodes = append(d.Nodes, node)
	}
	volumes := map[string][]*nodeEvidence{}
	for _, c := range objects.Claims {
		users := claims[c.Namespace+"/"+c.Name]
		if len(users) == 0 {
			users = []*nodeEvidence{rest}
		}
		for _, n := range users {
			d := share(n)
			d.Claims = append(d.Claims, c)
		}
		if c.Volume != "" {
			volumes[c.Volume] = users
		}
	}
	for _, v := range objects.Volumes {
		users := volumes[v.Name]
		if len(users) == 0 {
			users = []*nodeEvidence{rest}
		}
		for _, n := range users {
			d := share(n)
			d.Volumes = append(d.Volumes, v)
		}
	}
	for n, d := range shares {
		n.Merge(forensics.Evidence{Cluster: d, Coverage: p.Coverage})
	}
}
