package report

import (
	"path"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// mountGroup is one directory below the root directory of the kubelet: a pod, a plugin.
type mountGroup struct {
	Name  link
	Note  shown
	Nodes []mountNode // with problems, or all where none has any
	Well  []mountNode
}

// mountNode is a mount in the tree.
type mountNode struct {
	Path   shown // below the group's directory
	Source shown
	Type   shown
	Health mark
	Detail shown
	Href   string
}

// addTree groups the kubelet's mounts by pod and plugin. Groups with problems come first.
func (v *mountsView) addTree(items []mountItem, names podBook, places *places) {
	groups := map[string]*mountGroup{}
	var order []string
	room := budget(budgetTree)
	for i, m := range items {
		if m.below == "" {
			continue
		}
		key, rest := groupKey(m.below)
		g := groups[key]
		if g == nil {
			g = newMountGroup(key, names, places)
			groups[key] = g
			order = append(order, key)
		}
		word, t := healthWords(m.health.Status)
		node := mountNode{
			Path: cell(rest, maxCell), Source: cell(m.Source, 120), Type: cell(m.FSType, 60),
			Health: mark{t, cell(word, 60)}, Detail: cell(healthDetail(m), maxCell),
		}
		if i < len(v.Rows) {
			node.Href = "#" + v.Rows[i].Anchor
		}
		if !room.fits(node, 180) {
			v.TreeCut++
			continue
		}
		g.add(node)
	}
	const unfolded = 20
	for _, key := range order {
		g := groups[key]
		switch {
		case len(g.Nodes) == 0:
			g.Nodes, g.Well = g.Well, nil
			v.Well = append(v.Well, *g)
		case len(v.Groups) < unfolded:
			v.Groups = append(v.Groups, *g)
		default:
			v.Folded = append(v.Folded, *g)
		}
	}
}

func (g *mountGroup) add(n mountNode) {
	if n.Health.Tone.rank() < toneQuiet.rank() {
		g.Nodes = append(g.Nodes, n)
		return
	}
	g.Well = append(g.Well, n)
}

// groupKey splits "pods/UID/volumes/…" behind the second element.
func groupKey(below string) (key, rest string) {
	parts := strings.SplitN(below, "/", 3)
	if len(parts) < 3 {
		return path.Dir(below), path.Base(below)
	}
	return parts[0] + "/" + parts[1], parts[2]
}

func newMountGroup(key string, names podBook, places *places) *mountGroup {
	g := &mountGroup{Name: link{Text: cell(key, maxCell)}}
	if uid, ok := strings.CutPrefix(key, "pods/"); ok {
		g.Name.Href = places.hrefOf(forensics.KindPod, uid)
		if name := names.name(uid); name != uid {
			g.Note = cell(name, maxCell)
		}
		if state, _ := names.model.PodState(uid); state != forensics.PodUnknown {
			g.Note = shown(strings.TrimPrefix(string(g.Note)+", "+string(podState(state).Word), ", "))
		}
	}
	return g
}
