package mounts

import (
	"path"
	"slices"
	"sort"
	"strings"
)

// ByID returns the mount with an id.
func (x *Index) ByID(id int) (Mount, bool) {
	i, ok := x.byID[id]
	if !ok {
		return Mount{}, false
	}
	return x.mounts[i], true
}

// Covering returns the mount that an absolute path is on: the topmost at the longest visible mount point that is the
// path or a directory above it. It is false where no mount is known, as at the root of a chroot that is no mount point.
// A path with symbolic links lies wherever they lead, which this does not follow.
func (x *Index) Covering(name string) (Mount, bool) {
	i := x.covering(clean(name))
	if i == none {
		return Mount{}, false
	}
	return x.mounts[i], true
}

// clean is path.Clean for names that mostly need none, as those of open files, of which there are a hundred thousand.
func clean(name string) string {
	if len(name) < 2 || name[0] != '/' || name[len(name)-1] == '/' {
		return path.Clean(name)
	}
	for i := 0; i < len(name)-1; i++ {
		if name[i] == '/' && (name[i+1] == '/' || name[i+1] == '.') {
			return path.Clean(name)
		}
	}
	return name
}

func (x *Index) covering(clean string) int32 {
	for name := clean; ; {
		bit := lengthBit(name)
		if x.lengths[bit/64]&(1<<(bit%64)) != 0 {
			if p, ok := x.points[name]; ok && p.visible != none {
				return p.visible
			}
		}
		slash := strings.LastIndexByte(name, '/')
		if slash < 0 || name == "/" {
			return none
		}
		name = name[:max(slash, 1)]
	}
}

// Below returns the mounts whose mount point is dir or below it, covered ones included, in the order of the table.
func (x *Index) Below(dir string) []Mount {
	dir = path.Clean(dir)
	if dir == "/" {
		return slices.Clone(x.mounts)
	}
	p := x.points[dir]
	found := slices.Clone(x.sorted[p.lo:p.hi])
	found = append(found, x.sorted[x.firstFrom(dir+"/"):x.firstFrom(dir+"0")]...) // "0" follows "/"
	slices.Sort(found)
	return x.list(found)
}

// firstFrom returns the position of the first mount point that is not before name.
func (x *Index) firstFrom(name string) int {
	return sort.Search(len(x.sorted), func(i int) bool { return x.mountPoint(i) >= name })
}

// At returns the mounts on one mount point, topmost last. If other mounts are there that are covered together with a
// directory above it, they come first.
func (x *Index) At(mountPoint string) []Mount {
	p := x.points[path.Clean(mountPoint)]
	return x.list(x.sorted[p.lo:p.hi])
}

// Visible says whether a path can lead to a mount: no other is on top of it or on a directory above it.
func (x *Index) Visible(id int) bool {
	i, ok := x.byID[id]
	return ok && x.points[x.mounts[i].MountPoint].visible == i
}

// Ancestors returns what a mount is mounted on, what that is mounted on, and so on as far as the table tells.
func (x *Index) Ancestors(id int) []Mount {
	found := []Mount{}
	i, ok := x.byID[id]
	for ok && len(found) < len(x.mounts) { // ids may name each other as parents
		parent := x.parentID(&x.mounts[i])
		if i, ok = x.byID[parent]; ok {
			found = append(found, x.mounts[i])
		}
	}
	return found
}

func (x *Index) list(indexes []int32) []Mount {
	list := make([]Mount, len(indexes))
	for i, m := range indexes {
		list[i] = x.mounts[m]
	}
	return list
}
