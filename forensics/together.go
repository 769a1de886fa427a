package forensics

import (
	"fmt"
	"slices"
)

// together puts processes that explain nothing but what another one explains, too, beside that one: what ten processes hold
// is one thing that is wrong. The steps for all of them are in the same findings. So it is with pods that explain the same, as
// those that use one claim. Of each root that stands for itself it gives the others.
func together(roots []Entity, members map[Entity][]int) map[Entity][]Entity {
	c := newCompany(roots, members)
	found := map[Entity][]Entity{}
	for _, root := range roots {
		if head := c.head(root); head == root {
			found[root] = nil
		}
	}
	for _, root := range roots {
		if head := c.head(root); head != root {
			found[head] = append(found[head], root)
		}
	}
	return found
}

// company are root causes, by the findings that each explains. Many processes and pods may explain the same.
type company struct {
	members map[Entity][]int
	first   map[string]Entity // of those of a kind with the same findings
	by      map[int][]Entity  // the first ones that are processes, by finding, in order
	heads   map[string]Entity
}

func newCompany(roots []Entity, members map[Entity][]int) *company {
	c := &company{members: members, first: map[string]Entity{}, by: map[int][]Entity{}, heads: map[string]Entity{}}
	for _, root := range roots {
		if _, again := c.first[c.key(root)]; again {
			continue
		}
		c.first[c.key(root)] = root
		for _, i := range members[root] {
			if root.Kind == KindProcess {
				c.by[i] = append(c.by[i], root)
			}
		}
	}
	return c
}

// key is the same for processes that explain the same, and for pods; others stand for themselves.
func (c *company) key(e Entity) string {
	if e.Kind == KindProcess || e.Kind == KindPod {
		return fmt.Sprint(e.Kind, c.members[e])
	}
	return e.String()
}

// head is the cause under which another one is named.
func (c *company) head(e Entity) Entity {
	key := c.key(e)
	if head, ok := c.heads[key]; ok {
		return head
	}
	head := c.first[key]
	if e.Kind == KindProcess {
		for _, other := range c.fewest(c.members[e]) {
			if len(c.members[other]) > len(c.members[e]) && subset(c.members[e], c.members[other]) && c.head(other) == other {
				head = other
				break
			}
		}
	}
	c.heads[key] = head
	return head
}

// fewest are the processes that explain the one of the findings that fewest explain: all others explain less.
func (c *company) fewest(findings []int) []Entity {
	return c.by[slices.MinFunc(findings, func(a, b int) int { return len(c.by[a]) - len(c.by[b]) })]
}

// subset says whether a sorted list is a part of another one.
func subset(some, all []int) bool {
	for _, i := range some {
		if _, ok := slices.BinarySearch(all, i); !ok {
			return false
		}
	}
	return true
}
