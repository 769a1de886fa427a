package live

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

// readsOfDB is how often the database is read until no transaction came in between.
const readsOfDB = 3

// readContainerdDB reads meta.db: buckets v1/k8s.io/containers and v1/k8s.io/images (containerd core/metadata/buckets.go).
func readContainerdDB(s *store) error {
	name := path.Join(s.runtime.Root, "io.containerd.metadata.v1.bolt/meta.db")
	for again := readsOfDB; ; again-- {
		file, err := s.fs.OpenFile(name)
		if err != nil {
			return err
		}
		m, err := runtimes.ParseMetadata(file, file.Size())
		_ = file.Close()
		if again > 1 && (err != nil || m.Changed) && s.ctx.Err() == nil {
			continue
		}
		if err != nil {
			s.trouble(fmt.Errorf("%s: %w", name, err))
		}
		if m.Changed {
			s.trouble(fmt.Errorf("%s changed while it was read", name))
		}
		s.addMetadata(m)
		return nil
	}
}

// addMetadata adds what the database says to what the tasks said.
func (s *store) addMetadata(m runtimes.Metadata) {
	for _, box := range m.Sandboxes {
		if s.full() {
			break
		}
		s.addSandbox(box)
	}
	for _, c := range m.Containers {
		if s.full() {
			break
		}
		s.addContainer(c)
	}
	for _, i := range m.Images {
		s.addImage(i)
	}
}

func (s *store) addSandbox(m runtimes.Sandbox) {
	box := s.sandbox(m.ID)
	box.PodUID, box.Namespace, box.Name = cmp.Or(m.PodUID, box.PodUID), cmp.Or(m.Namespace, box.Namespace), cmp.Or(m.Name, box.Name)
	box.Static, box.Attempt, box.Created = m.Static, m.Attempt, m.Created
	s.inUse = s.inUse || slices.Contains(box.From, "task")
	box.From = append(box.From, "metadata")
}

func (s *store) addContainer(m runtimes.Container) {
	c := s.container(m.ID)
	c.SandboxID, c.PodUID = cmp.Or(m.SandboxID, c.SandboxID), cmp.Or(m.PodUID, c.PodUID)
	c.Namespace, c.PodName, c.Name = cmp.Or(m.Namespace, c.Namespace), cmp.Or(m.PodName, c.PodName), cmp.Or(m.Name, c.Name)
	c.Image, c.ImageID = cmp.Or(c.Image, m.Image), m.ImageID
	c.Snapshotter, c.SnapshotKey = m.Snapshotter, m.SnapshotKey
	c.LogPath, c.Attempt, c.Created = m.LogPath, m.Attempt, m.Created
	s.inUse = s.inUse || slices.Contains(c.From, "task")
	c.From = append(c.From, "metadata")
}

// addImage adds one name. The CRI plugin stores an image under each tag and digest, and under its id.
func (s *store) addImage(m runtimes.Image) {
	i := s.image(m.Digest)
	if i.Digest == "" {
		i.Digest = m.Digest
		if size, id := s.contentSize(m.Digest, 0); id != "" {
			i.SizeBytes, i.ID = &size, id
		}
	}
	i.ID = cmp.Or(m.ID, i.ID)
	i.Names = append(i.Names, m.Names...)
	i.Pinned = i.Pinned || m.Pinned
	if t := m.Created; t != nil && (i.Created == nil || t.Before(*i.Created)) {
		i.Created = t
	}
}

// A manifest is an image manifest or an index of them (OCI image specification; Docker's media types have the same shape).
type manifest struct {
	Config    descriptor   `json:"config"`
	Layers    []descriptor `json:"layers"`
	Manifests []struct {
		descriptor
		Platform struct {
			Architecture string `json:"architecture"`
		} `json:"platform"`
	} `json:"manifests"`
}

type descriptor struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// contentSize is the size of an image's content for one platform, index, manifest, configuration and layers together, as containerd tells it to the kubelet, and the digest of its configuration, which is the image's id; "" where its
// manifest is not in the store.
func (s *store) contentSize(digest string, depth int) (size int64, id string) {
	algorithm, hex, ok := strings.Cut(digest, ":")
	if !ok || depth > 3 || strings.ContainsAny(hex, "/.") || strings.ContainsAny(algorithm, "/.") {
		return 0, ""
	}
	text, err := s.fs.ReadFile(path.Join(s.runtime.Root, "io.containerd.content.v1.content/blobs", algorithm, hex), maxJSON)
	if err != nil {
		s.trouble(err)
		return 0, ""
	}
	var m manifest
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&m); err != nil {
		s.trouble(fmt.Errorf("manifest %s: %w", digest, err))
		return 0, ""
	}
	for _, own := range []bool{true, false} { // the disk of another machine has the images of its own platform
		for _, sub := range m.Manifests {
			if own != (sub.Platform.Architecture == runtime.GOARCH) {
				continue
			}
			if size, id := s.contentSize(sub.Digest, depth+1); id != "" {
				return size + int64(len(text)), id
			}
		}
	}
	if m.Config.Digest == "" {
		return 0, ""
	}
	size = int64(len(text)) + m.Config.Size
	for _, l := range m.Layers {
		size += l.Size
	}
	return size, m.Config.Digest
}
