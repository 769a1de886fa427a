package runtimes

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// maxRecords bounds the containers, and the images, that are taken out of a database.
const maxRecords = 20_000

// Metadata is what the database of containerd, meta.db, says of what it runs for the kubelet, without the tasks and the
// sizes of images. Runtime and Root are those of nobody.
type Metadata struct {
	Sandboxes  []Sandbox
	Containers []Container
	// Images has one for each name: a tag or a digest in Names, or the image's id in ID.
	Images []Image
	// Changed says that a transaction was committed while the database was read.
	Changed bool
}

// ParseMetadata reads meta.db of so many bytes, which containerd may be writing to: buckets v1/k8s.io/containers and
// v1/k8s.io/images (containerd core/metadata/buckets.go). What can be read of a damaged file comes with the error.
func ParseMetadata(r io.ReaderAt, size int64) (Metadata, error) {
	var m Metadata
	db, err := openBolt(r, size)
	if err != nil {
		return m, err
	}
	at := db.top()
	for _, name := range []string{"v1", "k8s.io"} {
		sub, err := db.find(at, name)
		if sub == nil {
			return m, err // nil: this containerd has never served a kubelet
		}
		at = *sub
	}
	var containers, images []record
	var errs []error
	err = db.each(at, func(key, _ []byte, sub *boltBucket) error {
		if sub == nil {
			return nil
		}
		var err error
		switch string(key) {
		case "containers":
			containers, err = db.records(*sub)
		case "images":
			images, err = db.records(*sub)
		}
		errs = append(errs, err)
		return nil
	})
	m.addContainers(containers)
	m.addImages(images)
	m.Changed = db.changed()
	return m, errors.Join(append(errs, err)...)
}

// A record is one container or image in the database: its values, and those of its buckets as "bucket/key".
type record struct {
	name   string
	values map[string]string
}

// wantedValue says whether a value is kept: not the OCI specification, which holds the environment.
func wantedValue(name string) bool { return name != "spec" }

func (db *boltDB) records(b boltBucket) (list []record, err error) {
	err = db.each(b, func(key, _ []byte, sub *boltBucket) error {
		if sub == nil || len(list) == maxRecords {
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

func (m *Metadata) addContainers(list []record) {
	for _, r := range list {
		switch r.values["labels/io.cri-containerd.kind"] {
		case "sandbox":
			m.Sandboxes = append(m.Sandboxes, r.sandbox())
		case "container":
			m.Containers = append(m.Containers, r.container())
		} // others are not the kubelet's, or their record is damaged
	}
}

func (m *Metadata) addImages(list []record) {
	for _, r := range list {
		i := Image{Digest: r.values["target/digest"], Created: binaryTime(r.values["createdat"])}
		i.Pinned = r.values["labels/io.cri-containerd.pinned"] == "pinned"
		if strings.HasPrefix(r.name, "sha256:") {
			i.ID = r.name
		} else {
			i.Names = []string{r.name}
		}
		m.Images = append(m.Images, i)
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

// label is one of the labels that the kubelet gives.
func (r record) label(name string) string { return r.values["labels/io.kubernetes."+name] }

func (r record) sandbox() Sandbox {
	m := r.criMetadata("sandbox").Metadata
	return Sandbox{
		ID:        r.name,
		PodUID:    cmp.Or(m.Config.Metadata.UID, r.label("pod.uid")),
		Namespace: cmp.Or(m.Config.Metadata.Namespace, r.label("pod.namespace")),
		Name:      cmp.Or(m.Config.Metadata.Name, r.label("pod.name")),
		Static:    IsStatic(m.Config.Annotations["kubernetes.io/config.source"]),
		Attempt:   attemptOf(m.Name),
		Created:   binaryTime(r.values["createdat"]),
	}
}

func (r record) container() Container {
	m := r.criMetadata("container").Metadata
	return Container{
		ID:          r.name,
		SandboxID:   m.SandboxID,
		PodUID:      r.label("pod.uid"),
		Namespace:   r.label("pod.namespace"),
		PodName:     r.label("pod.name"),
		Name:        cmp.Or(r.label("container.name"), m.Config.Metadata.Name),
		Image:       r.values["image"],
		ImageID:     m.ImageRef,
		Snapshotter: r.values["snapshotter"],
		SnapshotKey: r.values["snapshotKey"],
		LogPath:     m.LogPath,
		Attempt:     attemptOf(m.Name),
		Created:     binaryTime(r.values["createdat"]),
	}
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

// attemptOf reads the number that a name ends in: "c_web_default_<uid>_0".
func attemptOf(name string) int {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '_' {
			if n, err := strconv.Atoi(name[i+1:]); err == nil {
				return n
			}
			break
		}
	}
	return -1
}
