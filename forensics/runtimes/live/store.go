package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// maxProblems bounds what is noted of one runtime.
const maxProblems = 10

// A store is what one runtime left, while it is being read.
type store struct {
	ctx        context.Context
	fs         *hostfs.FS
	runtime    runtimes.Runtime
	sandboxes  map[string]*runtimes.Sandbox
	containers map[string]*runtimes.Container
	images     map[string]*runtimes.Image // by what tells them apart in this runtime
	nameless   map[string]runtimes.Task   // neither known to be a sandbox nor a container
	dirs       map[string]*hostfs.Dir
	// inUse says that files below the root know of what was created since the boot, so that it is the root that is in use.
	inUse bool
}

func readStore(ctx context.Context, fsys *hostfs.FS, in install) (*store, error) {
	s := &store{
		ctx: ctx, fs: fsys, runtime: in.Runtime,
		sandboxes: map[string]*runtimes.Sandbox{}, containers: map[string]*runtimes.Container{}, images: map[string]*runtimes.Image{}, nameless: map[string]runtimes.Task{},
		dirs: map[string]*hostfs.Dir{},
	}
	defer s.close()
	s.runtime.Problems = []string{}
	err := formatOf(in.of).read(s, in)
	s.inUse = s.inUse || in.rootNamed
	s.nameAfterSandbox()
	return s, err
}

// addTo adds it to those of other runtimes. What lies in a directory of which it is not known whether it is still in use is left
// out, with false: a runtime that was moved elsewhere leaves everything behind.
func (s *store) addTo(all *runtimes.Stores) bool {
	all.Runtimes = append(all.Runtimes, s.runtime)
	if s.runtime.Assumed != "" && !s.inUse {
		return false
	}
	for _, id := range slices.Sorted(maps.Keys(s.sandboxes)) {
		all.Sandboxes = append(all.Sandboxes, *s.sandboxes[id])
	}
	for _, id := range slices.Sorted(maps.Keys(s.containers)) {
		all.Containers = append(all.Containers, *s.containers[id])
	}
	all.Images = append(all.Images, s.listImages()...)
	return true
}

// openOnce opens a directory that is looked into for each container, nil if there is none. It stays open until close.
func (s *store) openOnce(at string) *hostfs.Dir {
	dir, known := s.dirs[at]
	if !known {
		var err error
		if dir, err = s.fs.OpenDir(at); err != nil {
			s.trouble(err)
			dir = nil
		}
		s.dirs[at] = dir
	}
	return dir
}

func (s *store) close() {
	for _, dir := range s.dirs {
		if dir != nil {
			_ = dir.Close()
		}
	}
}

// trouble notes what could not be read. What is absent is no trouble: it may have been removed meanwhile.
func (s *store) trouble(err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	switch text := err.Error(); {
	case len(s.runtime.Problems) < maxProblems && !slices.Contains(s.runtime.Problems, text):
		s.runtime.Problems = append(s.runtime.Problems, text)
	case len(s.runtime.Problems) == maxProblems:
		s.runtime.Problems = append(s.runtime.Problems, "and more")
	}
}

func (s *store) sandbox(id string) *runtimes.Sandbox {
	if s.sandboxes[id] == nil {
		s.sandboxes[id] = &runtimes.Sandbox{ID: id, Runtime: s.runtime.Name, Root: s.runtime.Root, Attempt: -1, Task: runtimes.Task{From: []string{}}}
	}
	return s.sandboxes[id]
}

func (s *store) container(id string) *runtimes.Container {
	if s.containers[id] == nil {
		s.containers[id] = &runtimes.Container{ID: id, Runtime: s.runtime.Name, Root: s.runtime.Root, Attempt: -1, Task: runtimes.Task{From: []string{}}}
	}
	return s.containers[id]
}

func (s *store) image(key string) *runtimes.Image {
	if s.images[key] == nil {
		s.images[key] = &runtimes.Image{Runtime: s.runtime.Name, Root: s.runtime.Root, Names: []string{}, Containers: []string{}}
	}
	return s.images[key]
}

// full says that there are more sandboxes and containers than are read.
func (s *store) full() bool {
	if len(s.sandboxes)+len(s.containers) < maxPerRuntime {
		return false
	}
	s.trouble(fmt.Errorf("more than %d sandboxes and containers: %w", maxPerRuntime, nodefs.ErrTruncated))
	return true
}

// nameAfterSandbox completes containers from their sandboxes, and sandboxes without facts of their own from their containers.
func (s *store) nameAfterSandbox() {
	for _, c := range s.containers {
		box := s.sandboxes[c.SandboxID]
		if box == nil {
			continue
		}
		complete(&c.PodUID, &box.PodUID)
		complete(&c.Namespace, &box.Namespace)
		complete(&c.PodName, &box.Name)
	}
}

func complete(a, b *string) {
	if *a == "" {
		*a = *b
	} else if *b == "" {
		*b = *a
	}
}

// listImages adds to each image the containers that were made from it.
func (s *store) listImages() []runtimes.Image {
	byName := map[string]*runtimes.Image{}
	for _, key := range slices.Sorted(maps.Keys(s.images)) {
		i := s.images[key]
		slices.Sort(i.Names)
		i.Names = slices.Compact(i.Names)
		for _, name := range append([]string{i.ID, i.Digest}, i.Names...) {
			if name != "" {
				byName[name] = i
			}
		}
	}
	use := func(id string, names ...string) {
		for _, name := range names {
			if i := byName[name]; i != nil && name != "" {
				i.Containers = append(i.Containers, id)
				return
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.containers)) {
		use(id, s.containers[id].ImageID, s.containers[id].Image)
	}
	list := make([]runtimes.Image, 0, len(s.images))
	for _, key := range slices.Sorted(maps.Keys(s.images)) {
		list = append(list, *s.images[key])
	}
	sorting.Stable(list, func(a, b runtimes.Image) int {
		return cmp.Compare(strings.Join(a.Names, " "), strings.Join(b.Names, " "))
	})
	return list
}
