package apidump

// An Index answers questions about the objects of a dump that name each other. It refers to the dump, which must not change.
// Where several objects have one name the first counts.
type Index struct {
	dump     *Dump
	podsOf   map[string][]int // by claim, "namespace/name"
	claimOf  map[string]int   // by "namespace/name"
	volumeOf map[string]int   // by name
	nodeOf   map[string]int   // by name
	ownerOf  map[string]int   // by UID
	owners   map[string][]int // by "namespace/name"
}

// Index builds the index of a dump.
func (d *Dump) Index() *Index {
	x := &Index{
		dump: d, podsOf: map[string][]int{}, claimOf: first(d.Claims, func(c *Claim) string { return c.ID() }),
		volumeOf: first(d.Volumes, func(v *Volume) string { return v.Name }), nodeOf: first(d.Nodes, func(n *Node) string { return n.Name }),
		ownerOf: first(d.Owners, func(o *Object) string { return o.UID }), owners: map[string][]int{},
	}
	delete(x.ownerOf, "")
	for i := range d.Pods {
		for _, claim := range d.Pods[i].Claims {
			id := Object{Namespace: d.Pods[i].Namespace, Name: claim}.ID()
			if list := x.podsOf[id]; len(list) == 0 || list[len(list)-1] != i { // it may mount one twice
				x.podsOf[id] = append(list, i)
			}
		}
	}
	for i, o := range d.Owners {
		x.owners[o.ID()] = append(x.owners[o.ID()], i)
	}
	return x
}

func first[T any](list []T, name func(*T) string) map[string]int {
	at := make(map[string]int, len(list))
	for i := range list {
		if _, twice := at[name(&list[i])]; !twice {
			at[name(&list[i])] = i
		}
	}
	return at
}

// Claim finds a claim.
func (x *Index) Claim(namespace, name string) (Claim, bool) {
	i, ok := x.claimOf[Object{Namespace: namespace, Name: name}.ID()]
	if !ok {
		return Claim{}, false
	}
	return x.dump.Claims[i], true
}

// Node finds a node.
func (x *Index) Node(name string) (Node, bool) {
	i, ok := x.nodeOf[name]
	if !ok {
		return Node{}, false
	}
	return x.dump.Nodes[i], true
}

// ownersNamed are those whose name and a dash a name begins with, the shortest name first.
func (x *Index) ownersNamed(namespace, name string) []int {
	var found []int
	for i := range name {
		if name[i] == '-' {
			found = append(found, x.owners[Object{Namespace: namespace, Name: name[:i]}.ID()]...)
		}
	}
	return found
}
