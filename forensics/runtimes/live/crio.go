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
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

const annotationCRIO = "io.kubernetes.cri-o."

// readCRIO reads CRI-O, which keeps sandboxes and containers in the store of containers/storage
// (<root>/<driver>-containers): containers.json lists them, userdata/ of each has its config.json and state.json. The store
// may belong to podman alone: what has none of CRI-O's annotations and names is passed over.
func readCRIO(s *store, in install) error {
	if !s.anyExists(in.of.Store.Marks) {
		return fmt.Errorf("%s: no files of CRI-O: %w", in.Root, fs.ErrNotExist)
	}
	at := path.Join(in.Root, in.Snapshotter+"-containers")
	text, err := s.fs.ReadFile(path.Join(at, "containers.json"), 16*maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		if _, stateErr := s.fs.Lstat(path.Join(in.State, in.Snapshotter+"-containers")); stateErr != nil {
			return err
		}
	}
	s.trouble(err)
	var list []storedContainer
	if err == nil {
		if err := json.Unmarshal(text, &list); err != nil {
			s.trouble(fmt.Errorf("%s: %w", path.Join(at, "containers.json"), err))
		}
	}
	listed := map[string]storedContainer{}
	for _, c := range list {
		listed[c.ID] = c
	}
	// The directories know what containers.json, rewritten as a whole, may have lost.
	for _, id := range s.idsIn(at, path.Join(in.State, in.Snapshotter+"-containers")) {
		if _, ok := listed[id]; !ok {
			listed[id] = storedContainer{ID: id}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		if err := s.ctx.Err(); err != nil || s.full() {
			return err
		}
		s.addStored(listed[id], path.Join(at, id, "userdata"), path.Join(in.State, in.Snapshotter+"-containers", id, "userdata"))
	}
	s.trouble(readStoredImages(s, in))
	return nil
}

func (s *store) anyExists(paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		_, err := s.fs.Lstat(p)
		return err == nil
	})
}

// idsIn lists the names of directories that are ids of containers.
func (s *store) idsIn(dirs ...string) []string {
	var ids []string
	for _, dir := range dirs {
		entries, err := s.fs.ReadDir(dir, maxPerRuntime)
		s.trouble(err)
		for _, e := range entries {
			if isID(e.Name) && e.Type.IsDir() {
				ids = append(ids, e.Name)
			}
		}
	}
	return ids
}

// A storedContainer is an element of containers.json.
type storedContainer struct {
	ID      string   `json:"id"`
	Names   []string `json:"names"`
	Image   string   `json:"image"`
	Layer   string   `json:"layer"`
	Created string   `json:"created"`
}

// A crioState is state.json: the OCI state, with what CRI-O adds.
type crioState struct {
	Status    string `json:"status"`
	PID       int    `json:"pid"`
	InitPID   int    `json:"initPid"`
	InitStart string `json:"initStartTime"` // field 22 of /proc/PID/stat
	Finished  string `json:"finished"`
	ExitCode  *int   `json:"exitCode"`
}

// addStored adds one sandbox or container of CRI-O, from the directory that lasts and the one of this boot.
func (s *store) addStored(c storedContainer, lasting, boot string) {
	var config runtimes.OCIConfig
	bundle, both := "", 0
	for _, at := range []string{boot, lasting} {
		dir, err := s.fs.OpenDir(at)
		if err != nil {
			s.trouble(err)
			continue
		}
		if both++; at == boot {
			bundle = boot
		}
		if config.Annotations == nil {
			if config, err = readOCIConfig(dir, "config.json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				s.trouble(fmt.Errorf("%s/config.json: %w", at, err))
			}
		}
		_ = dir.Close()
	}
	a := func(name string) string { return config.Annotations[annotationCRIO+name] }
	name := a("Name")
	if len(c.Names) > 0 && name == "" {
		name = c.Names[0]
	}
	container, pod, namespace, uid, attempt, ok := kubeName(name)
	if !ok && a("ContainerType") == "" {
		return // podman's
	}
	s.inUse = s.inUse || both == 2
	state := s.readCRIOState(path.Join(lasting, "state.json"))
	t := runtimes.Task{CgroupPath: config.Linux.CgroupsPath, Bundle: bundle, From: []string{"metadata"}}
	t.InitPID, t.InitStart = state.init()
	if bundle != "" {
		t.From = []string{"metadata", "task"}
	}
	if t.InitPID == 0 && state.Status != "stopped" {
		t.InitPID, t.InitStart = s.pidfile(boot, c.ID)
	}
	created := firstTime(c.Created, a("Created"))
	k := func(name, otherwise string) string {
		return cmp.Or(config.Annotations["io.kubernetes."+name], otherwise)
	}
	if a("ContainerType") == "sandbox" || container == "POD" {
		box := s.sandbox(c.ID)
		box.PodUID, box.Namespace, box.Name = k("pod.uid", uid), k("pod.namespace", namespace), k("pod.name", pod)
		box.Attempt, box.Created, box.Task = attempt, created, t
		var inner map[string]string
		_ = json.Unmarshal([]byte(a("Annotations")), &inner) // absent or no JSON: then it is not known to be static
		box.Static = runtimes.IsStatic(cmp.Or(config.Annotations["kubernetes.io/config.source"], inner["kubernetes.io/config.source"]))
		return
	}
	full := s.container(c.ID)
	full.SandboxID, full.PodUID = a("SandboxID"), k("pod.uid", cmp.Or(uid, config.PodUID("")))
	full.Namespace, full.PodName, full.Name = k("pod.namespace", namespace), k("pod.name", pod), k("container.name", container)
	full.Image, full.ImageID, full.SnapshotKey = cmp.Or(a("ImageName"), a("Image")), imageID(cmp.Or(c.Image, a("Image"))), c.Layer
	full.LogPath, full.Attempt, full.Created, full.Task = a("LogPath"), attempt, created, t
	if full.Finished = timeText(state.Finished); full.Finished != nil && state.Status == "stopped" {
		full.ExitCode = state.ExitCode
	} else {
		full.Finished = nil
	}
}

func (s *store) readCRIOState(name string) (state crioState) {
	text, err := s.fs.ReadFile(name, maxConfig)
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.trouble(fmt.Errorf("%s: %w", name, err))
	}
	return state
}

// init is the first process of a state that is not one of the end.
func (c crioState) init() (pid int, start uint64) {
	pid = c.InitPID
	if pid == 0 {
		pid = c.PID
	}
	if c.Status == "stopped" {
		return 0, 0
	}
	start, err := strconv.ParseUint(c.InitStart, 10, 64)
	if err != nil {
		return pid, 0
	}
	return pid, start
}

// pidfile is what conmon wrote, completed from the state of runc or crun.
func (s *store) pidfile(boot, id string) (pid int, start uint64) {
	for _, root := range []string{"/run/runc", "/run/crun"} {
		if dir := s.openOnce(root); dir != nil {
			if pid, start = readRuncState(dir, id); pid != 0 {
				return pid, start
			}
		}
	}
	dir, err := s.fs.OpenDir(boot)
	if err != nil {
		return 0, 0
	}
	defer func() { _ = dir.Close() }()
	return readPID(dir, "pidfile"), 0
}

func firstTime(texts ...string) *time.Time {
	for _, text := range texts {
		if t := timeText(text); t != nil {
			return t
		}
	}
	return nil
}
