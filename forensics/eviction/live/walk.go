// Package live reads the disks of a node for package eviction: [Walker] counts what uses the space of a file system, within limits and
// without crossing a mount.
//
// Nothing here decides whether a mount may be accessed: callers skip mounts that do not respond.
package live

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// WalkOptions bound a [Walker]. The zero value is useful.
type WalkOptions struct {
	// MaxEntries is how many directory entries a walk reads, 5,000,000 by default. Its context limits its time.
	MaxEntries int64
	// Workers is how many directories are read at a time, 4 by default.
	Workers int
	Layout  eviction.Layout
}

// DefaultBudget is how long walks may take, unless more is asked for.
const DefaultBudget = 2 * time.Second

const (
	maxDepth   = 256     // of directories, each of which keeps a descriptor open
	maxBuckets = 20_000  // directories that are counted apart
	maxLinks   = 2 << 20 // inodes with several names, which have to be remembered
)

// A Walker counts the space that directories use. Its result is available while it is blocked.
type Walker struct {
	rules    eviction.Rules
	walked   map[string]bool // trees, by path
	max      int64
	slots    chan struct{}
	entries  atomic.Int64
	failures atomic.Int64
	crossed  atomic.Int64
	cut      atomic.Pointer[string]

	mu      sync.Mutex
	buckets []*bucket
	links   map[inode]struct{}
	problem error
}

type inode struct{ dev, ino uint64 }

// A bucket adds up what lies below a directory, without what other buckets have.
type bucket struct {
	eviction.Item
	bytes, files atomic.Int64
}

// NewWalker prepares a walk.
func NewWalker(opt WalkOptions) *Walker {
	workers := opt.Workers
	if workers <= 0 {
		workers = 4
	}
	entries := opt.MaxEntries
	if entries <= 0 {
		entries = 5_000_000
	}
	return &Walker{
		rules: opt.Layout.Rules(), max: entries, slots: make(chan struct{}, workers-1), links: map[inode]struct{}{}, walked: map[string]bool{},
	}
}

// Walk counts the space of the trees below the given directories, in allocated blocks (st_blocks), each inode once. A directory
// that was walked before is skipped, so the most important directory can come first and its parent later. Walk crosses no mount and
// follows no symbolic link. When ctx ends, Walk stops, and the result says that the count is incomplete. Walk may block where the file
// system does: then [Walker.Usage] has what was counted so far.
func (w *Walker) Walk(ctx context.Context, fsys *hostfs.FS, trees ...string) {
	for _, tree := range trees {
		dir, err := fsys.OpenDir(tree)
		if err != nil {
			w.fail(err)
			continue
		}
		if w.walked[dir.Path()] || w.over(ctx) {
			_ = dir.Close()
			continue
		}
		w.walked[dir.Path()] = true // nobody reads it now
		var all sync.WaitGroup
		top := w.bucketOf(dir.Path())
		if info, err := dir.Lstat("."); err == nil {
			top.bytes.Add(info.Blocks * 512)
		}
		w.dir(ctx, &all, dir, top, 0)
		all.Wait()
	}
}

// bucketOf is the bucket that a tree belongs to, as the rules for its directory and those above it say.
func (w *Walker) bucketOf(name string) *bucket {
	at := eviction.Item{Kind: eviction.KindOther, Path: name}
	for i := 1; i <= len(name) && name != "/"; i++ {
		if i == len(name) || name[i] == '/' {
			if item, ok := w.rules.Classify(name[:i], at.Kind); ok {
				at = item
			}
		}
	}
	return w.add(at, nil)
}

// add begins a bucket, or returns the other where there are too many.
func (w *Walker) add(item eviction.Item, other *bucket) *bucket {
	w.mu.Lock()
	defer w.mu.Unlock()
	if other != nil && len(w.buckets) >= maxBuckets {
		return other
	}
	b := &bucket{Item: item}
	w.buckets = append(w.buckets, b)
	return b
}

func (w *Walker) fail(err error) {
	w.failures.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.problem == nil {
		w.problem = err
	}
}

// stop says why the walk ends early; the first reason counts.
func (w *Walker) stop(why string) { w.cut.CompareAndSwap(nil, &why) }

// over says whether to go on.
func (w *Walker) over(ctx context.Context) bool {
	switch {
	case w.cut.Load() != nil:
		return true
	case ctx.Err() != nil:
		w.stop("it timed out")
		return true
	case w.entries.Load() > w.max:
		w.stop(fmt.Sprintf("more than %d files", w.max))
		return true
	}
	return false
}

// dir counts a directory, which it closes, and what lies below. Directories below are read by others where somebody is
// free, and here otherwise.
func (w *Walker) dir(ctx context.Context, all *sync.WaitGroup, d *hostfs.Dir, into *bucket, depth int) {
	defer func() { _ = d.Close() }()
	if w.over(ctx) {
		return
	}
	var below []child
	var bytes, files int64
	err := d.Scan(func(name string, info nodefs.Info) bool {
		files++
		switch {
		case info.Mode.IsDir():
			below = append(below, child{name, info.Blocks * 512})
		case info.Nlink < 2 || w.first(info):
			bytes += info.Blocks * 512
		}
		return files%16 != 0 || !w.over(ctx) // a busy disk can take 10 ms for each
	})
	w.entries.Add(files)
	into.bytes.Add(bytes)
	into.files.Add(files)
	if err != nil {
		w.fail(err)
	}
	for _, c := range below {
		if w.over(ctx) {
			return
		}
		if depth >= maxDepth {
			w.stop(fmt.Sprintf("%s is more than %d directories deep", d.Path(), maxDepth))
			return
		}
		w.below(ctx, all, d, c, into, depth)
	}
}

// A child is a directory in a directory, with what it takes itself.
type child struct {
	name  string
	bytes int64
}

func (w *Walker) below(ctx context.Context, all *sync.WaitGroup, d *hostfs.Dir, c child, into *bucket, depth int) {
	name := path.Join(d.Path(), c.name)
	if w.walked[name] {
		return
	}
	sub, err := d.OpenDir(c.name)
	switch {
	case errors.Is(err, nodefs.ErrCrossesMount):
		w.crossed.Add(1)
		return
	case err != nil:
		w.fail(err)
		return
	}
	if item, ok := w.rules.Classify(name, into.Kind); ok {
		into = w.add(item, into)
	}
	into.bytes.Add(c.bytes)
	select {
	case w.slots <- struct{}{}:
		all.Go(func() {
			w.dir(ctx, all, sub, into, depth+1)
			<-w.slots
		})
	default:
		w.dir(ctx, all, sub, into, depth+1)
	}
}

var tooManyLinks = "too many hard links"

// first says whether an inode with several names is met for the first time.
func (w *Walker) first(info nodefs.Info) bool {
	id := inode{info.Dev, info.Ino}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, again := w.links[id]; again {
		return false
	}
	if w.links[id] = struct{}{}; len(w.links) >= maxLinks {
		w.cut.CompareAndSwap(nil, &tooManyLinks)
	}
	return true
}

// Usage adds up what was counted so far.
func (w *Walker) Usage(f eviction.FileSystem, extra ...eviction.Item) eviction.Usage {
	u := eviction.Usage{
		Device: f.Device, Trees: []string{}, UsedBytes: int64(f.UsedBytes()), Entries: w.entries.Load(),
		Problems: int(w.failures.Load()), MountPoints: int(w.crossed.Load()), Kinds: []eviction.KindSum{}, Items: []eviction.Item{},
	}
	if cut := w.cut.Load(); cut != nil {
		u.Cut = *cut
	}
	w.mu.Lock()
	items := make([]eviction.Item, 0, len(w.buckets)+len(extra))
	for _, b := range w.buckets {
		item := b.Item
		item.Bytes, item.Files = b.bytes.Load(), b.files.Load()
		items = append(items, item)
	}
	if w.problem != nil {
		u.Problem = w.problem.Error()
	}
	w.mu.Unlock()
	u.Add(append(items, extra...))
	return u
}
