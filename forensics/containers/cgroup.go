// Package containers reads what the container runtime and the kubelet left in cgroups and on disk, never through the
// runtime's daemon.
package containers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/hostfs"
)

// A PodCgroup is the cgroup of one pod. It lives from before the pod's first container until after its volumes are
// unmounted (kubelet pkg/kubelet/cm), so a pod that still terminates has one.
type PodCgroup struct {
	PodUID string `json:"pod_uid"`
	// Path is the directory, for cgroup v1 in the hierarchy in which it was found first.
	Path string `json:"path"`
	// Containers are the container ids of the cgroups below it, without doubles.
	Containers []string `json:"containers"`
}

// hierarchies are where pods' cgroups can be: the unified hierarchy (v2, and hybrid), then those of v1 that kubelets
// always use.
var hierarchies = []string{
	"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/pids",
	"/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct",
}

const (
	maxCgroups = 100_000 // directories looked at, over all hierarchies
	maxEntries = 20_000  // entries of one directory
	maxDepth   = 8       // below the hierarchy's root; nested clusters (kind) need five
)

var (
	podUID      = regexp.MustCompile(`pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice(?::cri-containerd:[0-9a-f]{64})?)?$`)
	containerID = regexp.MustCompile(`(?:^|[-:])([0-9a-f]{64})(?:\.scope)?$`)
)

// PodCgroups lists the cgroups of pods, for cgroup v1 and v2 and for both cgroup drivers, sorted by pod UID. A system
// without any cgroup hierarchy is an error that wraps fs.ErrNotExist; what could be read comes with every error.
func PodCgroups(ctx context.Context, fsys *hostfs.FS) ([]PodCgroup, error) {
	w := walker{ctx: ctx, pods: map[string]*PodCgroup{}, left: maxCgroups}
	var errs []error
	found := false
	for _, root := range hierarchies {
		dir, err := fsys.OpenDir(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		found = true
		if err := w.look(dir, root, 0, ""); err != nil {
			errs = append(errs, err)
		}
		_ = dir.Close()
	}
	if !found && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("cgroups: /sys/fs/cgroup: %w", fs.ErrNotExist))
	}
	return w.sorted(), errors.Join(errs...)
}

type walker struct {
	ctx  context.Context
	pods map[string]*PodCgroup
	left int
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
		if m := podUID.FindStringSubmatch(e.Name); m != nil {
			uid = strings.ReplaceAll(m[1], "_", "-")
			w.add(uid, here)
		}
		if id := containerID.FindStringSubmatch(e.Name); id != nil && uid != "" {
			w.addContainer(uid, id[1])
		}
		if depth == maxDepth || uid == "" && !leads(e.Name) {
			continue
		}
		if w.left--; w.left < 0 {
			return fmt.Errorf("cgroups: more than %d directories: %w", maxCgroups, hostfs.ErrTruncated)
		}
		child, err := dir.OpenDir(e.Name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, hostfs.ErrCrossesMount) {
			continue // gone in between, or a hierarchy of its own
		}
		if err == nil {
			err = w.look(child, here, depth+1, uid)
			_ = child.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// leads says whether pods can be below a cgroup that belongs to no pod.
func leads(name string) bool {
	return strings.Contains(name, "kube") || strings.HasSuffix(name, ".slice") || name == "burstable" || name == "besteffort" ||
		name == "docker" || name == "containerd.service" || containerID.MatchString(name)
}

func (w *walker) add(uid, at string) {
	if w.pods[uid] == nil {
		w.pods[uid] = &PodCgroup{PodUID: uid, Path: at, Containers: []string{}}
	}
}

func (w *walker) addContainer(uid, id string) {
	if p := w.pods[uid]; !slices.Contains(p.Containers, id) {
		p.Containers = append(p.Containers, id)
	}
}

func (w *walker) sorted() []PodCgroup {
	pods := make([]PodCgroup, 0, len(w.pods))
	for _, p := range w.pods {
		slices.Sort(p.Containers)
		pods = append(pods, *p)
	}
	slices.SortFunc(pods, func(a, b PodCgroup) int { return cmp.Compare(a.PodUID, b.PodUID) })
	return pods
}
