package live

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

const (
	criPlugin     = "io.containerd.grpc.v1.cri"
	cdTasks       = "io.containerd.runtime.v2.task/k8s.io"
	cdTasksV1     = "io.containerd.runtime.v1.linux/k8s.io" // shim v1, gone with containerd 2.0
	annotationCRI = "io.kubernetes.cri."
)

// readContainerd reads containerd: the tasks below its state directory, then the metadata database, then what the CRI
// plugin keeps of each container.
func readContainerd(s *store, in install) error {
	_, rootErr := s.fs.Lstat(path.Join(in.Root, "io.containerd.metadata.v1.bolt"))
	_, stateErr := s.fs.Lstat(path.Join(in.State, path.Dir(cdTasks)))
	if rootErr != nil && (stateErr != nil || sharedState(s, in)) {
		for _, err := range []error{rootErr, stateErr} {
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err // what may not be looked at is not absent
			}
		}
		return rootErr
	}
	s.trouble(readContainerdTasks(s, path.Join(in.State, cdTasks)))
	s.trouble(readContainerdTasks(s, path.Join(in.State, cdTasksV1)))
	s.trouble(readContainerdDB(s))
	s.addNameless()
	for _, id := range slices.Sorted(maps.Keys(s.containers)) {
		readCRIStatus(s, id)
	}
	return s.ctx.Err()
}

// sharedState says that a state directory belongs to another install, whose root exists: k3s and rke2 share one.
func sharedState(s *store, in install) bool {
	for _, other := range in.of.Store.Installs {
		if other.State == in.State && other.Root != in.Root {
			if _, err := s.fs.Lstat(other.Root); err == nil {
				return true
			}
		}
	}
	return false
}

// readContainerdTasks reads <state>/io.containerd.runtime.v2.task/k8s.io/<id>: the bundles of what was created since the
// boot and not deleted, whether it runs or not.
func readContainerdTasks(s *store, at string) error {
	dir, err := s.fs.OpenDir(at)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.Entries(maxPerRuntime)
	s.trouble(err)
	for _, e := range entries {
		if !e.Type.IsDir() || s.full() {
			continue
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		task, err := dir.OpenDir(e.Name)
		if err != nil {
			s.trouble(err)
			continue
		}
		config, err := readOCIConfig(task, "config.json")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.trouble(fmt.Errorf("%s: %w", path.Join(at, e.Name, "config.json"), err))
		}
		pid := readPID(task, "init.pid")
		_ = task.Close()
		s.addTask(e.Name, path.Join(at, e.Name), config, pid)
	}
	return nil
}

func (s *store) addTask(id, bundle string, config runtimes.OCIConfig, pid int) {
	a := func(name string) string { return config.Annotations[annotationCRI+name] }
	t := runtimes.Task{InitPID: pid, CgroupPath: config.Linux.CgroupsPath, Bundle: bundle}
	t.InitStart = s.initStart(id, pid)
	uid := cmp.Or(a("sandbox-uid"), config.PodUID(a("sandbox-log-directory")))
	if len(config.Annotations) == 0 {
		s.nameless[id] = t
		return
	}
	// The sandbox is a container like any other, and older versions have no more than its id to tell.
	if a("container-type") == "sandbox" || a("container-type") == "" && a("sandbox-id") == id {
		box := s.sandbox(id)
		box.PodUID, box.Namespace, box.Name = cmp.Or(box.PodUID, uid), cmp.Or(box.Namespace, a("sandbox-namespace")), cmp.Or(box.Name, a("sandbox-name"))
		mergeTask(&box.Task, t)
		return
	}
	c := s.container(id)
	c.SandboxID, c.PodUID = cmp.Or(c.SandboxID, a("sandbox-id")), cmp.Or(c.PodUID, uid)
	c.Namespace, c.PodName = cmp.Or(c.Namespace, a("sandbox-namespace")), cmp.Or(c.PodName, a("sandbox-name"))
	c.Name, c.Image = cmp.Or(c.Name, a("container-name")), cmp.Or(c.Image, a("image-name"))
	mergeTask(&c.Task, t)
}

// addNameless adds the tasks whose config.json told nothing to what the database knows of them.
func (s *store) addNameless() {
	for _, id := range slices.Sorted(maps.Keys(s.nameless)) {
		s.inUse = s.inUse || s.sandboxes[id] != nil || s.containers[id] != nil
		if box := s.sandboxes[id]; box != nil {
			mergeTask(&box.Task, s.nameless[id])
		} else {
			mergeTask(&s.container(id).Task, s.nameless[id])
		}
	}
}

// mergeTask adds what the state directory tells.
func mergeTask(t *runtimes.Task, from runtimes.Task) {
	from.From = append(t.From, "task")
	from.Removing, from.Dead = t.Removing, t.Dead
	if from.InitPID == 0 {
		from.InitPID, from.InitStart = t.InitPID, t.InitStart
	}
	from.CgroupPath = cmp.Or(from.CgroupPath, t.CgroupPath)
	*t = from
}

// initStart asks the state of runc, whose directory is /run/containerd/runc whatever containerd's own state directory is
// (containerd pkg/process, RuncRoot), unless the runtime's options name another.
func (s *store) initStart(id string, pid int) uint64 {
	for _, root := range []string{"/run/containerd/runc/k8s.io", path.Join(s.runtime.State, "runc/k8s.io")} {
		if dir := s.openOnce(root); dir != nil {
			if recorded, start := readRuncState(dir, id); recorded == pid {
				return start
			}
		}
	}
	return 0
}

// readCRIStatus reads what the CRI plugin writes down of the life of a container.
func readCRIStatus(s *store, id string) {
	text, err := s.fs.ReadFile(path.Join(s.runtime.Root, criPlugin, "containers", id, "status"), maxConfig)
	if err != nil {
		s.trouble(err)
		return
	}
	var status struct {
		PID        int `json:"Pid"`
		CreatedAt  int64
		FinishedAt int64
		ExitCode   int
		Removing   bool
	}
	if err := json.Unmarshal(text, &status); err != nil {
		s.trouble(fmt.Errorf("status of container %s: %w", id, err))
		return
	}
	c := s.containers[id]
	if c.Created == nil {
		c.Created = nanoseconds(status.CreatedAt)
	}
	if c.Finished = nanoseconds(status.FinishedAt); c.Finished != nil {
		c.ExitCode = &status.ExitCode
	}
	if c.InitPID == 0 && c.Finished == nil {
		c.InitPID = status.PID
	}
	c.Removing = c.Removing || status.Removing
}
