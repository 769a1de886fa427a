package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// WalkOptions bound a [Walk]. The zero value is useful.
type WalkOptions struct {
	// MaxPods is how many pod directories are read, 10,000 by default.
	MaxPods int
	// MaxEntries is how many directory entries are looked at in all, 1,000,000 by default. Of one directory never more
	// than 1,000 are read.
	MaxEntries int
	// Uncounted says of a pod, by its UID, that what lies in its volumes need not be counted, as for pods that are alive;
	// nil counts for all.
	Uncounted func(uid string) bool
	// MaxCounted is how many entries are counted in all, 100,000 by default, and of one volume never more than 2,000;
	// MaxCounting how long that may take, 2 s by default.
	MaxCounted  int
	MaxCounting time.Duration
	// Group remembers a walk that does not come back; nil remembers none.
	Group *probe.Group
}

const (
	defaultMaxPods    = 10_000
	defaultMaxEntries = 1_000_000
	maxDirEntries     = 1000
	maxPodFile        = 64 << 10 // vol_data.json, etc-hosts
	maxReaders        = 4        // threads; each of them stays behind where the root's file system does not answer

	defaultMaxCounted  = 100_000
	defaultMaxCounting = 2 * time.Second
)

// notRead is the Error of a pod directory that the walk did not come to.
const notRead = "not read"

// Walk reads <canonicalRoot>/pods, where canonicalRoot is [kubelet.Instance.CanonicalRoot] and fsys shows what the kubelet sees
// (see [ProcessFS]). x is the mount table of the kubelet's mount namespace; it may be nil.
//
// Pod directories hold files of untrusted containers and the mounts that are the reason for looking. So everything
// is reached through [hostfs.Dir]: no symbolic link is followed, no FIFO or device opened, and nothing asked of what is
// mounted. A mount point is known from x, or by the kernel refusing to cross it.
//
// Where the file system of the root itself does not answer, Walk returns when ctx ends. With an error come the pods that
// were read, and those that were not with an Error that says so. The error wraps [fs.ErrNotExist] if there is no
// such directory.
func Walk(ctx context.Context, fsys *hostfs.FS, x *mounts.Index, canonicalRoot string, opt WalkOptions) ([]kubelet.PodDir, error) {
	if opt.MaxPods <= 0 {
		opt.MaxPods = defaultMaxPods
	}
	if opt.MaxEntries <= 0 {
		opt.MaxEntries = defaultMaxEntries
	}
	if opt.MaxCounted <= 0 {
		opt.MaxCounted = defaultMaxCounted
	}
	if opt.MaxCounting <= 0 {
		opt.MaxCounting = defaultMaxCounting
	}
	counting, stop := context.WithTimeout(ctx, opt.MaxCounting)
	defer stop()
	w := &walker{x: x, uncounted: opt.Uncounted, counting: counting}
	w.left.Store(int64(opt.MaxEntries))
	w.countLeft.Store(int64(opt.MaxCounted))
	dir := path.Join(canonicalRoot, "pods")
	_, err := probe.Do(ctx, opt.Group, "walk of "+dir, func() (struct{}, error) {
		return struct{}{}, w.walk(ctx, fsys, dir, opt.MaxPods)
	})
	return w.results(), err
}

// A walker walks. Its results can be taken while it is stuck.
type walker struct {
	x    *mounts.Index
	left atomic.Int64 // entries

	uncounted func(uid string) bool
	counting  context.Context // ends when counting has taken its time
	countLeft atomic.Int64

	mu   sync.Mutex
	pods []kubelet.PodDir
	read atomic.Int64 // how many of pods were read
}

// results returns the pods without those whose directory was removed meanwhile.
func (w *walker) results() []kubelet.PodDir {
	w.mu.Lock()
	defer w.mu.Unlock()
	pods := append([]kubelet.PodDir{}, w.pods...)
	return sorting.Delete(pods, func(pod kubelet.PodDir) bool { return pod.Path == "" })
}

func (w *walker) walk(ctx context.Context, fsys *hostfs.FS, name string, maxPods int) error {
	dir, err := fsys.OpenDir(name)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.Entries(maxPods)
	w.announce(dir.Path(), entries)
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(maxReaders, runtime.GOMAXPROCS(0)) {
		readers.Go(func() {
			for i := int(next.Add(1) - 1); i < len(w.pods) && ctx.Err() == nil && w.left.Load() > 0; i = int(next.Add(1) - 1) {
				w.readInto(dir, i)
			}
		})
	}
	readers.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case w.left.Load() <= 0 && w.unread():
		return errors.Join(err, fmt.Errorf("%s: %w: the entries of all pods", name, nodefs.ErrTruncated))
	}
	return err
}

// readInto reads the pod at an index.
func (w *walker) readInto(dir *hostfs.Dir, i int) {
	pod := w.pods[i]
	w.readPod(dir, &pod)
	w.mu.Lock()
	w.pods[i] = pod
	w.mu.Unlock()
	w.read.Add(1)
}

// unread says that some pod was not read.
func (w *walker) unread() bool { return int(w.read.Load()) < len(w.pods) }

// announce lists the pods before any is read. Like the kubelet it takes every directory for a pod, whatever its name.
func (w *walker) announce(dir string, entries []nodefs.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pods = make([]kubelet.PodDir, 0, len(entries))
	for _, entry := range entries {
		if !entry.TypeKnown || entry.Type.IsDir() {
			w.pods = append(w.pods, kubelet.PodDir{
				UID: entry.Name, Path: path.Join(dir, entry.Name), Error: notRead,
				Containers: []string{}, Volumes: []kubelet.Volume{}, Subpaths: []kubelet.Subpath{}, Unknown: []string{},
			})
		}
	}
}

// readPod reads one pod's directory. Path becomes "" if it is gone.
func (w *walker) readPod(parent *hostfs.Dir, pod *kubelet.PodDir) {
	r := podReader{walker: w, pod: pod, points: w.mountPoints(pod.Path)}
	r.counts = w.uncounted == nil || !w.uncounted(pod.UID)
	pod.Error = ""
	if r.isMountPoint(pod.Path) {
		pod.Error = fmt.Errorf("%s: %w", pod.Path, nodefs.ErrCrossesMount).Error()
		return
	}
	dir, err := parent.OpenDir(pod.UID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		pod.Path = ""
		return
	case err != nil:
		pod.Error = err.Error()
		return
	}
	defer func() { _ = dir.Close() }()
	if info, err := dir.Info(); err == nil {
		pod.Modified = &info.ModTime
		if r.counts {
			pod.Changed = &info.ChangeTime
		}
	}
	for _, entry := range r.entries(dir) {
		switch entry.Name {
		case "etc-hosts":
			r.readHosts(dir)
		case "containers":
			r.readContainers(dir)
		case "volumes":
			r.eachPlugin(dir, "volumes", r.readVolume)
		case "volumeDevices":
			r.eachPlugin(dir, "volumeDevices", r.readDevice)
		case "volume-subpaths":
			r.readSubpaths(dir)
		case "plugins", "userns": // marks of empty-dir volumes; the user namespace of the pod (1.25)
		default:
			r.noteUnknown(entry.Name)
		}
	}
	pod.Error = r.errorText()
}

// mountPoints returns the mount points at and below a path, sorted, each once.
func (w *walker) mountPoints(name string) []string {
	if w.x == nil {
		return nil
	}
	below := w.x.Below(name)
	points := make([]string, len(below))
	for i, m := range below {
		points[i] = m.MountPoint
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// A podReader reads one pod's directory.
type podReader struct {
	*walker
	pod    *kubelet.PodDir
	points []string
	counts bool

	problem  error // the first one
	problems int
}

// fail remembers a problem. That something is gone is none: pods end all the time.
func (r *podReader) fail(err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return
	}
	if r.problems++; r.problem == nil {
		r.problem = err
	}
}

func (r *podReader) errorText() string {
	switch r.problems {
	case 0:
		return ""
	case 1:
		return r.problem.Error()
	}
	return fmt.Sprintf("%v (and %d more)", r.problem, r.problems-1)
}

// entries lists a directory within the bounds.
func (r *podReader) entries(dir *hostfs.Dir) []nodefs.Entry {
	entries, err := r.listing(dir)
	r.fail(err)
	return entries
}

// listing lists a directory within the bounds.
func (r *podReader) listing(dir *hostfs.Dir) ([]nodefs.Entry, error) {
	entries, err := dir.Entries(int(min(maxDirEntries, max(r.left.Load(), 0))))
	r.left.Add(-int64(len(entries)))
	return entries, err
}

// open opens a directory of the kubelet's own, where a mount point would be a surprise.
func (r *podReader) open(parent *hostfs.Dir, name string) (*hostfs.Dir, bool) {
	if r.isMountPoint(path.Join(parent.Path(), name)) {
		r.fail(fmt.Errorf("%s: %w", path.Join(parent.Path(), name), nodefs.ErrCrossesMount))
		return nil, false
	}
	dir, err := parent.OpenDir(name)
	r.fail(err)
	return dir, err == nil
}

// list lists a directory of the kubelet's own.
func (r *podReader) list(parent *hostfs.Dir, name string) []nodefs.Entry {
	dir, ok := r.open(parent, name)
	if !ok {
		return nil
	}
	defer func() { _ = dir.Close() }()
	return r.entries(dir)
}

// noteChange remembers when a directory of the kubelet's own was changed, if it is the latest.
func (r *podReader) noteChange(dir *hostfs.Dir) {
	if !r.counts {
		return
	}
	info, err := dir.Info()
	if err == nil && (r.pod.Changed == nil || info.ChangeTime.After(*r.pod.Changed)) {
		r.pod.Changed = &info.ChangeTime
	}
}

// noteUnknown remembers an entry that the kubelet does not make.
func (r *podReader) noteUnknown(rel string) {
	const most = 20
	if len(r.pod.Unknown) < most {
		r.pod.Unknown = append(r.pod.Unknown, rel)
	}
}

func (r *podReader) isMountPoint(name string) bool {
	_, found := slices.BinarySearch(r.points, name)
	return found
}

// mountsAt returns the mount points at or below a path.
func (r *podReader) mountsAt(name string) []string {
	found := []string{}
	for _, point := range r.points {
		if point == name || strings.HasPrefix(point, name+"/") {
			found = append(found, point)
		}
	}
	return found
}

func (r *podReader) readHosts(dir *hostfs.Dir) {
	if r.isMountPoint(path.Join(r.pod.Path, "etc-hosts")) {
		return
	}
	text, err := dir.ReadFile("etc-hosts", maxPodFile)
	if !errors.Is(err, nodefs.ErrTruncated) { // the name is at the beginning
		r.fail(err)
	}
	r.pod.HostName = parseHostName(string(text))
}

func (r *podReader) readContainers(dir *hostfs.Dir) {
	for _, entry := range r.list(dir, "containers") {
		if entry.IsDir() {
			r.pod.Containers = append(r.pod.Containers, entry.Name)
		}
	}
}
