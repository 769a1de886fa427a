package eviction

import (
	"cmp"
	"sync"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// An Index is a state with its lists by device and by role: who forges a state decides how long they are, so that nothing may
// go through one of them for each entry of another.
type Index struct {
	*State

	places      map[string]Place // the first of each role
	fileSystems map[string]FileSystem
	usage       map[string]Usage
	placesOn    map[string][]Place
	reaches     func() map[string][]Reach
}

// Index makes one of a state that does not change any more; of nil, one of an empty state.
func (s *State) Index() *Index {
	if s == nil {
		s = &State{}
	}
	x := &Index{
		State: s, places: map[string]Place{}, fileSystems: map[string]FileSystem{}, usage: map[string]Usage{}, placesOn: map[string][]Place{},
	}
	for _, p := range s.Places {
		putFirst(x.places, p.Role, p)
		if p.Device != "" {
			x.placesOn[p.Device] = append(x.placesOn[p.Device], p)
		}
	}
	for _, f := range s.FileSystems {
		putFirst(x.fileSystems, f.Device, f)
	}
	for _, u := range s.Usage {
		putFirst(x.usage, u.Device, u)
	}
	x.reaches = sync.OnceValue(x.allReaches)
	return x
}

func putFirst[V any](m map[string]V, key string, v V) {
	if _, twice := m[key]; !twice {
		m[key] = v
	}
}

// Of finds the file system of a role; false where it is unknown or was not to be asked.
func (x *Index) Of(role string) (FileSystem, bool) {
	p, ok := x.places[role]
	if !ok || p.Device == "" {
		return FileSystem{}, false
	}
	f, ok := x.fileSystems[p.Device]
	return f, ok && f.Error == "" && (f.CapacityBytes > 0 || f.Inodes > 0)
}

// PlacesOn are the places on a file system.
func (x *Index) PlacesOn(device string) []Place { return x.placesOn[device] }

// Roles are the roles of a file system.
func (x *Index) Roles(device string) []string {
	roles := []string{}
	for _, p := range x.placesOn[device] {
		roles = append(roles, p.Role)
	}
	return roles
}

// Shared says whether images and pods share one file system, which decides what is deleted first under pressure; known
// is false where one of the two is unknown.
func (x *Index) Shared() (shared, known bool) {
	node, ok1 := x.Of(RoleNode)
	image, ok2 := x.Of(RoleImage)
	return node.Device == image.Device, ok1 && ok2
}

// UsageOf finds where the space of a file system went.
func (x *Index) UsageOf(device string) (Usage, bool) {
	u, ok := x.usage[device]
	return u, ok
}

// Reaches compares every threshold of a file system with it, the nearest first. Thresholds that never trigger are left out,
// and a file system without figures has none.
func (x *Index) Reaches(device string) []Reach { return x.reaches()[device] }

func (x *Index) allReaches() map[string][]Reach {
	all := map[string][]Reach{}
	for _, t := range x.Thresholds {
		f, ok := x.Of(t.Role())
		if !ok || t.never() {
			continue
		}
		r := Reach{Threshold: t, FileSystem: f, Have: f.AvailableBytes, Limit: t.limit(f.CapacityBytes)}
		if t.Inodes() {
			if f.Inodes == 0 {
				continue
			}
			r.Have, r.Limit = f.InodesFree, t.limit(f.Inodes)
		}
		if !t.Inodes() && f.CapacityBytes == 0 {
			continue // only its inodes are known
		}
		r.Met = r.Have < r.Limit
		all[f.Device] = append(all[f.Device], r)
	}
	for _, list := range all {
		sorting.Stable(list, func(a, b Reach) int { return cmp.Compare(a.Left(), b.Left()) })
	}
	return all
}

// IsNear says whether a file system is near one of its thresholds, past it, or full.
func (x *Index) IsNear(device string) bool {
	f, ok := x.fileSystems[device]
	if _, full := f.Full(); !ok || full {
		return ok
	}
	if list := x.Reaches(device); len(list) > 0 && list[0].Left() < Near {
		return true
	}
	image, ok := x.Of(RoleImage)
	return ok && image.Device == device && x.ImageGC.Disabled == "" && image.UsagePercent() > x.ImageGC.HighPercent-Near
}
