package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

const (
	// storeLimit bounds reading one runtime's files, which should be on a local disk.
	storeLimit = 5 * time.Second

	maxPerRuntime = 20_000  // sandboxes, containers or images of one runtime
	maxJSON       = 4 << 20 // one file
	maxConfig     = 1 << 20
)

// A Hint is a process of a container runtime. The caller vouches for it: any process can be called like one.
type Hint struct {
	PID int
	// StartTicks is the start in clock ticks since boot (field 22 of /proc/PID/stat): with PID it names one process. 0 is
	// unknown.
	StartTicks uint64
	Comm       string
	Args       []string
}

// Options say how runtimes are looked for. The zero value will do.
type Options struct {
	// Hints are processes whose flags may name other directories.
	Hints []Hint
	// Group remembers the calls that have not come back.
	Group *probe.Group
}

// Read reads the sandboxes, containers and images of all runtimes of a host, from files alone: no daemon is asked, so
// it works beside one that is stopped, dead, or on the disk of another machine. It knows the directories of containerd,
// CRI-O and Docker, those of k3s, rke2, microk8s and k0s, and what configuration files and the flags of Hints say.
//
// Where no runtime is found the error wraps fs.ErrNotExist, or what kept a configuration that would name its directories from
// being read. Trouble with a part of a runtime's files is in
// Runtime.Problems; one whose files do not answer costs its time limit, and the others are still read.
func Read(ctx context.Context, fsys *hostfs.FS, opt Options) (runtimes.Stores, error) {
	all := runtimes.Stores{Runtimes: []runtimes.Runtime{}, Sandboxes: []runtimes.Sandbox{}, Containers: []runtimes.Container{}, Images: []runtimes.Image{}}
	var errs []error
	seen, whole := map[string]bool{}, false
	list, unread := installs(ctx, fsys, opt)
	all.Unread = unread
	for _, in := range list {
		if seen[in.Name+" "+in.Root] {
			continue
		}
		seen[in.Name+" "+in.Root] = true
		limited, cancel := context.WithTimeout(ctx, storeLimit)
		s, err := probe.Do(limited, opt.Group, "files of "+in.Name+" "+in.Root, func() (*store, error) { return readStore(limited, fsys, in) })
		cancel()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", in.Root, err))
			in.Problems = []string{err.Error()}
			all.Runtimes = append(all.Runtimes, in.Runtime)
			continue
		}
		whole = s.addTo(&all) || whole
	}
	if !whole && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("no container runtime: %w", cmp.Or(firstOf(unread), fs.ErrNotExist)))
	}
	return all, errors.Join(errs...)
}

// firstOf is the error of the first path; nil where there is none.
func firstOf(unread map[string]error) error {
	for _, name := range slices.Sorted(maps.Keys(unread)) {
		return unread[name]
	}
	return nil
}
