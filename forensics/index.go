package forensics

import (
	"cmp"
	"slices"
	"sort"

	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// index finds what the model is asked for again and again without looking through the evidence: positions in its lists by
// what they are joined on, in order. A question must not cost more because somebody has multiplied pods, mounts, threads
// or holders: a pod can do that to each of them.
type index struct {
	elsewhere map[int]mounts.Mount // by id, of the other namespaces that were read; the first counts

	threadsOf    map[int][]int32    // by process
	threadsAt    map[int][]int32    // by mount
	threadsIn    map[string][]int32 // by superblock
	processesOf  map[string][]int32 // by pod
	processesIn  map[uint64][]int32 // by mount namespace
	dumpsOf      map[string][]int32 // by process, see processOf
	podDirOf     map[string][]int32 // by pod
	podsOf       map[string][]int32 // by pod; those that tell a kind
	deletionsOf  map[string][]int32 // by pod; those that have not ended
	containersOf map[string][]int32 // by id
	sandboxesOf  map[string][]int32 // by id
	backingOf    map[string][]int32 // by superblock
	// What few ask for, or dear, is found when somebody asks first.
	kubeletVersion func() string
	points         func() []string // all mount points of all tables, sorted
	disks          func() *eviction.Index
	cluster        func() *apidump.Index
	goroutines     func() []goroutinePlace
	traces         func() *podTraces

	waitedOn map[string]bool // superblocks that a thread waits for, not only for a lock of them
	// What coverage says of some sources, which may have many entries.
	processesSeen, cgroupsSeen, podsSeen seen
}

type goroutineID struct {
	dump int
	id   int64
}

// seen is what [Evidence.Saw] says.
type seen struct {
	ok  bool
	why string
}

// positions lists where each key is in a list. The zero value of a key is "unknown" and left out.
func positions[T any, K comparable](list []T, key func(*T) K) map[K][]int32 {
	var unknown K
	at := map[K][]int32{}
	for i := range list {
		if k := key(&list[i]); k != unknown {
			at[k] = append(at[k], int32(i))
		}
	}
	return at
}

// pick returns the elements at positions.
func pick[T any](list []T, at []int32) []T {
	var found []T
	for _, i := range at {
		found = append(found, list[i])
	}
	return found
}

// merged joins lists of positions into one in order, each position once.
func merged(lists ...[]int32) []int32 {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// A goroutinePlace is where a goroutine stands in the dumps.
type goroutinePlace struct {
	id      int64
	dump, i int32
}

// goroutinesOf lists the goroutines of all dumps by their numbers.
func goroutinesOf(dumps []Dump) []goroutinePlace {
	n := 0
	for i := range dumps {
		n += len(dumps[i].Goroutines)
	}
	list := make([]goroutinePlace, 0, n)
	for d := range dumps {
		for i := range dumps[d].Goroutines {
			list = append(list, goroutinePlace{dumps[d].Goroutines[i].ID, int32(d), int32(i)})
		}
	}
	sort.Slice(list, func(i, j int) bool { // one piece of code that all types share
		a, b := list[i], list[j]
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.dump, b.dump), cmp.Compare(a.i, b.i)) < 0
	})
	return list
}
