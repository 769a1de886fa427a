package eviction

import (
	"cmp"
	"maps"
	"slices"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Usage is what uses the space of one file system.
type Usage struct {
	Device string `json:"device"`
	// Trees are the directories that were walked: mount points of the file system that show different parts of it.
	Trees []string `json:"trees"`
	// UsedBytes is what df(1) shows; CountedBytes what was found. The difference, UnexplainedBytes, is metadata of the file
	// system, what lies below mount points, and what changed meanwhile; it is negative where files share blocks (reflinks).
	UsedBytes        int64 `json:"used_bytes"`
	CountedBytes     int64 `json:"counted_bytes"`
	UnexplainedBytes int64 `json:"unexplained_bytes"`
	Entries          int64 `json:"entries"`
	// Cut says why the walk ended before all was counted; empty if it came to the end. Problems counts directories that
	// could not be read, Problem is the first; MountPoints those that were not entered.
	Cut         string  `json:"cut,omitempty"`
	Problems    int     `json:"problems,omitempty"`
	Problem     string  `json:"problem,omitempty"`
	MountPoints int     `json:"mount_points,omitempty"`
	Seconds     float64 `json:"duration_seconds,omitempty"`
	// Kinds adds up every kind, Items are the largest single ones of each, both largest first.
	Kinds []KindSum `json:"kinds"`
	Items []Item    `json:"items"`
}

// KindSum is what one kind takes.
type KindSum struct {
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
	Files int64  `json:"files"`
	Items int    `json:"items"`
}

// An Item is one directory with what lies below it, without what belongs to other items.
type Item struct {
	Kind  string `json:"kind"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Files int64  `json:"files"`
	// PodUID and ContainerID are whose it is, Claim the volume claim ("namespace/name"); absent where unknown.
	PodUID      string `json:"pod_uid,omitempty"`
	ContainerID string `json:"container_id,omitempty"`
	Claim       string `json:"claim,omitempty"`
}

// maxItems is how many items of one kind are kept.
const maxItems = 50

// Add adds items to the sums of their kinds, of which the largest items are kept, and to what is counted. It is meant to be
// called once, with all items.
func (u *Usage) Add(items []Item) {
	sums := map[string]*KindSum{}
	sorting.Stable(items, func(a, b Item) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path)) })
	for _, item := range items {
		sum := sums[item.Kind]
		if sum == nil {
			sum = &KindSum{Kind: item.Kind}
			sums[item.Kind] = sum
		}
		sum.Bytes += item.Bytes
		sum.Files += item.Files
		u.CountedBytes += item.Bytes
		if sum.Items++; sum.Items <= maxItems && item.Bytes+item.Files > 0 {
			u.Items = append(u.Items, item)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(sums)) {
		u.Kinds = append(u.Kinds, *sums[kind])
	}
	sorting.Stable(u.Kinds, func(a, b KindSum) int { return cmp.Compare(b.Bytes, a.Bytes) })
	u.UnexplainedBytes = u.UsedBytes - u.CountedBytes
}

// Kind is the sum of one kind.
func (u Usage) Kind(kind string) KindSum {
	i := slices.IndexFunc(u.Kinds, func(k KindSum) bool { return k.Kind == kind })
	if i < 0 {
		return KindSum{Kind: kind}
	}
	return u.Kinds[i]
}

// KindName is a kind in words.
func KindName(kind string) string {
	switch kind {
	case KindImages:
		return "images as downloaded"
	case KindLayers:
		return "unpacked layers of images and of stopped containers"
	case KindWritable:
		return "writable layers of containers"
	case KindLogs:
		return "container logs"
	case KindEmptyDir:
		return "emptyDir volumes"
	case KindPod:
		return "other data in pod directories"
	case kindKubelet:
		return "the kubelet's own files"
	case kindRuntime:
		return "other files of the runtime"
	case KindVolume:
		return "volume directories (hostPath, local-path)"
	case KindJournal:
		return "the journal"
	case KindDeleted:
		return "deleted files that are still open"
	}
	return "other files"
}
