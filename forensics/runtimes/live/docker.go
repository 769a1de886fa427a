package live

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// readDocker reads Docker as the kubelet uses it, through cri-dockerd or dockershim: containers/<id>/config.v2.json,
// image/<driver>/layerdb/mounts/<id>/mount-id for the writable layer, and the checkpoints of sandboxes. Containers that are no pod's are passed over, and a Docker that has no other and no
// checkpoints does not serve a kubelet.
func readDocker(s *store, in install) error {
	at := path.Join(in.Root, "containers")
	dir, err := s.fs.OpenDir(at)
	if err != nil {
		return err
	}
	_ = dir.Close()
	in.Snapshotter = s.dockerDriver(in)
	s.runtime.Snapshotter, s.runtime.SnapshotDir = in.Snapshotter, in.of.Store.LayerDir(in.Root, in.Snapshotter)
	mounts := path.Join(in.Root, "image", in.Snapshotter, "layerdb/mounts")
	for _, id := range s.idsIn(at) {
		if err := s.ctx.Err(); err != nil || s.full() {
			return err
		}
		s.trouble(s.addDocker(id, path.Join(at, id)))
		if c := s.containers[id]; c != nil {
			key, err := s.fs.ReadFile(path.Join(mounts, id, "mount-id"), 256)
			s.trouble(err)
			c.SnapshotKey = strings.TrimSpace(string(key))
		}
	}
	for _, kept := range []string{"/var/lib/cri-dockerd/sandbox", "/var/lib/dockershim/sandbox"} {
		s.addCheckpoints(kept)
	}
	if len(s.sandboxes)+len(s.containers) == 0 && !s.anyExists(in.of.Store.Marks) {
		return fmt.Errorf("%s: no pods of Docker: %w", in.Root, fs.ErrNotExist)
	}
	s.trouble(readDockerImages(s, in))
	s.nameImages()
	return nil
}

// dockerConfig is what matters of config.v2.json (moby daemon/container). The environment is not decoded.
type dockerConfig struct {
	Name    string
	Created string
	Image   string
	LogPath string
	Config  struct {
		Image  string
		Labels map[string]string
	}
	State struct {
		Running, Dead, RemovalInProgress bool
		PID                              int `json:"Pid"`
		ExitCode                         int
		FinishedAt                       string
	}
}

func (s *store) addDocker(id, at string) error {
	text, err := s.fs.ReadFile(path.Join(at, "config.v2.json"), maxJSON)
	if err != nil {
		return err
	}
	var d dockerConfig
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("%s/config.v2.json: %w", at, err)
	}
	label := func(name, otherwise string) string { return cmp.Or(d.Config.Labels["io.kubernetes."+name], otherwise) }
	container, pod, namespace, uid, attempt, ok := kubeName(d.Name)
	if !ok && label("pod.uid", "") == "" {
		return nil
	}
	t := runtimes.Task{InitPID: d.State.PID, Removing: d.State.RemovalInProgress, Dead: d.State.Dead, From: []string{"metadata"}}
	if dir := s.openOnce(path.Join(s.runtime.State, "runtime-runc/moby")); dir != nil && t.InitPID != 0 {
		if pid, start := readRuncState(dir, id); pid == t.InitPID {
			t.InitStart, t.From = start, append(t.From, "task")
			s.inUse = true
		}
	}
	if label("docker.type", "") == "podsandbox" || container == "POD" {
		box := s.sandbox(id)
		box.PodUID, box.Namespace, box.Name = label("pod.uid", uid), label("pod.namespace", namespace), label("pod.name", pod)
		box.Attempt, box.Created, box.Task = attempt, timeText(d.Created), t
		box.Static = runtimes.IsStatic(d.Config.Labels["annotation.kubernetes.io/config.source"])
		return nil
	}
	c := s.container(id)
	c.SandboxID, c.PodUID = label("sandbox.id", ""), label("pod.uid", uid)
	c.Namespace, c.PodName, c.Name = label("pod.namespace", namespace), label("pod.name", pod), label("container.name", container)
	c.Image, c.ImageID, c.LogPath = d.Config.Image, d.Image, label("container.logpath", d.LogPath)
	c.Attempt, c.Created, c.Task = attempt, timeText(d.Created), t
	if c.Finished = timeText(d.State.FinishedAt); c.Finished != nil && !d.State.Running {
		c.ExitCode = &d.State.ExitCode
	} else {
		c.Finished = nil
	}
	return nil
}

// addCheckpoints adds sandboxes of which nothing but the checkpoint is left: the kubelet cleans up after these, too.
func (s *store) addCheckpoints(at string) {
	for _, id := range s.idsInFiles(at) {
		text, err := s.fs.ReadFile(path.Join(at, id), maxConfig)
		var kept struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		}
		if err == nil {
			err = json.Unmarshal(text, &kept)
		}
		if err != nil {
			s.trouble(fmt.Errorf("%s: %w", path.Join(at, id), err))
			continue
		}
		box := s.sandbox(id)
		box.Name, box.Namespace = cmp.Or(box.Name, kept.Name), cmp.Or(box.Namespace, kept.Namespace)
		if len(box.From) == 0 {
			box.From = []string{"metadata"}
		}
	}
}

func (s *store) idsInFiles(dir string) []string {
	entries, err := s.fs.ReadDir(dir, maxPerRuntime)
	s.trouble(err)
	var ids []string
	for _, e := range entries {
		if isID(e.Name) && !e.Type.IsDir() {
			ids = append(ids, e.Name)
		}
	}
	return ids
}
