package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A hierarchy is where pods' cgroups can be.
type hierarchy struct {
	path string
	// whole says that it is searched below the pods, too: the others only tell that a pod's cgroup is left in them.
	whole bool
}

// hierarchies are the unified one (v2, and hybrid), those of v1 that kubelets always use, then the other controllers.
var hierarchies = []hierarchy{
	{"/sys/fs/cgroup", true},
	{"/sys/fs/cgroup/unified", true},
	{"/sys/fs/cgroup/systemd", true},
	{"/sys/fs/cgroup/pids", true},
	{"/sys/fs/cgroup/memory", true},
	{"/sys/fs/cgroup/cpu", true},
	{"/sys/fs/cgroup/cpu,cpuacct", true},
	{"/sys/fs/cgroup/freezer", true},
	{"/sys/fs/cgroup/cpuacct", false},
	{"/sys/fs/cgroup/cpuset", false},
	{"/sys/fs/cgroup/blkio", false},
	{"/sys/fs/cgroup/devices", false},
	{"/sys/fs/cgroup/hugetlb", false},
	{"/sys/fs/cgroup/net_cls", false},
	{"/sys/fs/cgroup/net_cls,net_prio", false},
	{"/sys/fs/cgroup/perf_event", false},
	{"/sys/fs/cgroup/rdma", false},
	{"/sys/fs/cgroup/misc", false},
}

const (
	maxCgroups = 100_000 // directories looked at, over all hierarchies
	maxEntries = 20_000  // entries of one directory
	maxDepth   = 8       // below the hierarchy's root; nested clusters (kind) need five
)

// containerID is what the name of a container's cgroup ends with.
var containerID = pattern.New(`(?:^|[-:])([0-9a-f]{64})(?:\.scope)?$`)

// ReadCgroups finds the cgroups of pods, for cgroup v1, v2 and both at once, and for both cgroup drivers. A system
// without any cgroup hierarchy is an error that wraps fs.ErrNotExist; what could be read comes with every error.
//
// The kubelet can have a root of any name (--cgroup-root, cgroupRoot; kind sets it). Known are cgroup paths of processes, as in
// /proc/PID/cgroup: where one is a pod's, the directories above it are searched, too.
func ReadCgroups(ctx context.Context, fsys *hostfs.FS, known ...string) (runtimes.Cgroups, error) {
	w := walker{ctx: ctx, pods: map[string]*runtimes.PodCgroup{}, left: maxCgroups, way: waysToPods(known)}
	var errs []error
	seen := map[string]bool{} // cpu is a link to cpu,cpuacct
	for _, h := range hierarchies {
		dir, err := fsys.OpenDir(h.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !seen[dir.Path()] {
			seen[dir.Path()] = true
			errs = append(errs, w.hierarchy(dir, h))
		}
		_ = dir.Close()
	}
	if len(seen) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("cgroups: /sys/fs/cgroup: %w", fs.ErrNotExist))
	}
	w.totals.MemoryCgroups = memoryCgroups(fsys)
	return runtimes.Cgroups{Pods: w.sorted(), Totals: w.totals}, errors.Join(errs...)
}

type walker struct {
	ctx    context.Context
	pods   map[string]*runtimes.PodCgroup
	left   int
	totals runtimes.CgroupTotals
	// way has the directories above pods, as paths below the root of a hierarchy ("/node").
	way map[string]bool
	// Of the hierarchy that is being walked:
	root                    string
	whole, unified, freezer bool
}

// hierarchy walks one hierarchy. Where v1 is used, /sys/fs/cgroup is a tmpfs in which nothing leads to pods.
func (w *walker) hierarchy(dir *hostfs.Dir, h hierarchy) error {
	_, err := dir.Lstat("cgroup.controllers") // in the root of v2 alone
	w.root = h.path
	w.whole, w.unified, w.freezer = h.whole, err == nil, path.Base(h.path) == "freezer"
	switch {
	case w.unified && h.path == hierarchies[0].path:
		w.totals.Version = "v2"
	case w.unified:
		w.totals.Version = "hybrid"
	case h.path != hierarchies[0].path && w.totals.Version == "":
		w.totals.Version = "v1"
	}
	if w.unified {
		w.totals.Dying = statValue(dir, "cgroup.stat", "nr_dying_descendants")
	}
	return w.look(dir, h.path, 0, "")
}

// look descends into directories that can lead to pods. pod is the UID of the pod that the directory belongs to.
func (w *walker) look(dir *hostfs.Dir, at string, depth int, pod string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	entries, err := dir.Entries(maxEntries)
	if err != nil && len(entries) == 0 {
		return fmt.Errorf("cgroups: %w", err)
	}
	errs := []error{err}
	for _, e := range entries {
		if !e.Type.IsDir() {
			continue
		}
		here, uid := path.Join(at, e.Name), pod
		if its := runtimes.PodOfCgroup(e.Name); its != "" {
			uid = its
			w.add(uid, here)
		}
		if id := containerID.FindStringSubmatch(e.Name); id != nil && uid != "" {
			w.addContainer(uid, id[1])
		}
		if depth == maxDepth || uid == "" && !leads(e.Name) && !w.way[strings.TrimPrefix(here, w.root)] || uid != "" && !w.whole {
			continue
		}
		if w.left--; w.left < 0 {
			return fmt.Errorf("cgroups: more than %d directories: %w", maxCgroups, nodefs.ErrTruncated)
		}
		child, err := dir.OpenDir(e.Name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, nodefs.ErrCrossesMount) {
			continue // gone in between, or a hierarchy of its own
		}
		if err == nil {
			if uid != "" {
				w.inspect(child, uid, here)
			}
			err = w.look(child, here, depth+1, uid)
			_ = child.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// waysToPods are the directories above those of the pods in cgroup paths of processes.
func waysToPods(known []string) map[string]bool {
	way := map[string]bool{}
	for _, p := range known {
		if uid, _ := procs.PodFromCgroup(p); uid == "" {
			continue
		}
		for p = path.Dir(p); p != "/" && p != "." && !way[p]; p = path.Dir(p) {
			way[p] = true
		}
	}
	return way
}

// leads says whether pods can be below a cgroup that belongs to no pod.
func leads(name string) bool {
	service, isService := strings.CutSuffix(name, ".service")
	return strings.Contains(name, "kube") || strings.HasSuffix(name, ".slice") || name == "burstable" || name == "besteffort" ||
		name == "docker" || isService && cri.IsUnit(service) || containerID.MatchString(name)
}

func (w *walker) add(uid, at string) {
	if w.pods[uid] == nil {
		w.pods[uid] = &runtimes.PodCgroup{PodUID: uid, Path: at, Paths: []string{}, Containers: []string{}, Frozen: []runtimes.FrozenCgroup{}}
	}
	w.pods[uid].Paths = append(w.pods[uid].Paths, at)
}

// inspect reads whether a cgroup of a pod is frozen, and what of it the kernel cannot let go.
func (w *walker) inspect(dir *hostfs.Dir, uid, at string) {
	pod := w.pods[uid]
	switch {
	case w.unified:
		if statValue(dir, "cgroup.events", "frozen") == 1 {
			pod.Frozen = append(pod.Frozen, runtimes.FrozenCgroup{Path: at, State: "frozen"})
		} else if text, err := dir.ReadFile("cgroup.freeze", 16); err == nil && strings.TrimSpace(string(text)) == "1" {
			pod.Frozen = append(pod.Frozen, runtimes.FrozenCgroup{Path: at, State: "freezing"})
		}
		if at == pod.Path {
			pod.Dying = statValue(dir, "cgroup.stat", "nr_dying_descendants")
		}
	case w.freezer:
		text, err := dir.ReadFile("freezer.state", 16)
		if state := strings.ToLower(strings.TrimSpace(string(text))); err == nil && (state == "frozen" || state == "freezing") {
			pod.Frozen = append(pod.Frozen, runtimes.FrozenCgroup{Path: at, State: state, V1: true})
		}
	}
}

// statValue reads one number of a file of lines "name number"; 0 where it is not told.
func statValue(dir *hostfs.Dir, file, name string) int {
	text, err := dir.ReadFile(file, 4096)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && key == name {
			n, err := strconv.Atoi(value)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// memoryCgroups reads the number of memory cgroups from /proc/cgroups (cgroups(7)): "memory 3 187 1", the third field.
func memoryCgroups(fsys *hostfs.FS) int {
	text, err := fsys.ReadFile("/proc/cgroups", 16<<10)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == "memory" {
			n, err := strconv.Atoi(f[2])
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

func (w *walker) addContainer(uid, id string) {
	if p := w.pods[uid]; !slices.Contains(p.Containers, id) {
		p.Containers = append(p.Containers, id)
	}
}

func (w *walker) sorted() []runtimes.PodCgroup {
	pods := make([]runtimes.PodCgroup, 0, len(w.pods))
	for _, p := range w.pods {
		slices.Sort(p.Containers)
		pods = append(pods, *p)
	}
	sorting.Stable(pods, func(a, b runtimes.PodCgroup) int { return cmp.Compare(a.PodUID, b.PodUID) })
	return pods
}
