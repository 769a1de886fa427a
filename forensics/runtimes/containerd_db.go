package runtimes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"time"
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
		records, err := readRecords(file, file.Size())
		_ = file.Close()
		if again > 1 && (err != nil || records.changed) && s.ctx.Err() == nil {
			continue
		}
		if err != nil {
			s.trouble(fmt.Errorf("%s: %w", name, err))
		}
		if records.changed {
			s.trouble(fmt.Errorf("%s changed while it was read", name))
		}
		s.addRecords(records)
		return nil
	}
}

// A record is one container or image in the database: its values, and those of its buckets as "bucket/key".
type record struct {
	name   string
	values map[string]string
}

type dbRecords struct {
	containers, images []record
	changed            bool
}

// readRecords collects what can be read, also from a damaged file.
func readRecords(r interface {
	ReadAt(p []byte, off int64) (int, error)
}, size int64,
) (dbRecords, error) {
	var found dbRecords
	db, err := openBolt(r, size)
	if err != nil {
		return found, err
	}
	at := db.top()
	for _, name := range []string{"v1", "k8s.io"} {
		sub, err := db.find(at, name)
		if sub == nil {
			return found, err // nil: this containerd has never served a kubelet
		}
		at = *sub
	}
	var errs []error
	err = db.each(at, func(key, _ []byte, sub *boltBucket) error {
		if sub == nil {
			return nil
		}
		var err error
		switch string(key) {
		case "containers":
			found.containers, err = db.records(*sub)
		case "images":
			found.images, err = db.records(*sub)
		}
		errs = append(errs, err)
		return nil
	})
	found.changed = db.changed()
	return found, errors.Join(append(errs, err)...)
}

// wantedValue says whether a value is kept: not the OCI specification, which holds the environment.
func wantedValue(name string) bool { return name != "spec" }

func (db *boltDB) records(b boltBucket) (list []record, err error) {
	err = db.each(b, func(key, _ []byte, sub *boltBucket) error {
		if sub == nil || len(list) == maxPerRuntime {
			return nil
		}
		r := record{string(key), map[string]string{}}
		err := db.each(*sub, func(key, value []byte, inner *boltBucket) error {
			if inner == nil {
				if wantedValue(string(key)) {
					r.values[string(key)] = string(value)
				}
				return nil
			}
			prefix := string(key) + "/"
			return db.each(*inner, func(key, value []byte, deeper *boltBucket) error {
				if deeper == nil {
					r.values[prefix+string(key)] = string(value)
				}
				return nil
			})
		})
		list = append(list, r)
		return err
	})
	return list, err
}

func (s *store) addRecords(found dbRecords) {
	for _, r := range found.containers {
		if s.full() {
			break
		}
		switch r.values["labels/io.cri-containerd.kind"] {
		case "sandbox":
			s.addSandboxRecord(r)
		case "container":
			s.addContainerRecord(r)
		} // others are not the kubelet's, or their record is damaged
	}
	for _, r := range found.images {
		s.addImageRecord(r)
	}
}

// criMetadata is what the CRI plugin stores with a container or sandbox, as far as it matters here.
type criMetadata struct {
	Metadata struct {
		Name      string
		SandboxID string
		LogPath   string
		ImageRef  string
		Config    struct {
			Metadata struct {
				Name      string `json:"name"`
				UID       string `json:"uid"`
				Namespace string `json:"namespace"`
			} `json:"metadata"`
			Annotations map[string]string `json:"annotations"`
		}
	}
}

// criMetadata reads the extension of a record: JSON within a protobuf Any.
func (r record) criMetadata(kind string) (m criMetadata) {
	value := r.values["extensions/io.cri-containerd."+kind+".metadata"]
	if at := strings.Index(value, `{"`); at >= 0 {
		_ = json.NewDecoder(strings.NewReader(value[at:])).Decode(&m) // the labels say the same, but for static and sandbox
	}
	return m
}

func (s *store) addSandboxRecord(r record) {
	m, box := r.criMetadata("sandbox").Metadata, s.sandbox(r.name)
	label := func(name string) string { return r.values["labels/io.kubernetes."+name] }
	box.PodUID = or(m.Config.Metadata.UID, or(label("pod.uid"), box.PodUID))
	box.Namespace = or(m.Config.Metadata.Namespace, or(label("pod.namespace"), box.Namespace))
	box.Name = or(m.Config.Metadata.Name, or(label("pod.name"), box.Name))
	box.Static = staticSource(m.Config.Annotations["kubernetes.io/config.source"])
	box.Attempt, box.Created = attemptOf(m.Name), binaryTime(r.values["createdat"])
	box.From = append(box.From, "metadata")
}

func (s *store) addContainerRecord(r record) {
	m, c := r.criMetadata("container").Metadata, s.container(r.name)
	label := func(name string) string { return r.values["labels/io.kubernetes."+name] }
	c.SandboxID, c.PodUID = or(m.SandboxID, c.SandboxID), or(label("pod.uid"), c.PodUID)
	c.Namespace, c.PodName = or(label("pod.namespace"), c.Namespace), or(label("pod.name"), c.PodName)
	c.Name = or(label("container.name"), or(m.Config.Metadata.Name, c.Name))
	c.Image, c.ImageID = or(c.Image, r.values["image"]), m.ImageRef
	c.Snapshotter, c.SnapshotKey = r.values["snapshotter"], r.values["snapshotKey"]
	c.LogPath, c.Attempt, c.Created = m.LogPath, attemptOf(m.Name), binaryTime(r.values["createdat"])
	c.From = append(c.From, "metadata")
}

// binaryTime is a time as time.Time.MarshalBinary writes it.
func binaryTime(text string) *time.Time {
	var t time.Time
	if t.UnmarshalBinary([]byte(text)) != nil || t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// addImageRecord adds one name. The CRI plugin stores an image under each tag and digest, and under its id.
func (s *store) addImageRecord(r record) {
	digest := r.values["target/digest"]
	i := s.image(digest)
	if i.Digest == "" {
		i.Digest = digest
		if size, id := s.contentSize(digest, 0); id != "" {
			i.SizeBytes, i.ID = &size, id
		}
	}
	if strings.HasPrefix(r.name, "sha256:") {
		i.ID = r.name
	} else {
		i.Names = append(i.Names, r.name)
	}
	i.Pinned = i.Pinned || r.values["labels/io.cri-containerd.pinned"] == "pinned"
	if t := binaryTime(r.values["createdat"]); t != nil && (i.Created == nil || t.Before(*i.Created)) {
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
