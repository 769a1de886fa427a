package live

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// dockerDriver is the storage driver: the one that is configured, or where that has no images, the only one that has.
// Docker chooses one that suits the disk where none is configured, or goes on with the one that it has used (moby
// daemon/graphdriver).
func (s *store) dockerDriver(in install) string {
	if _, err := s.fs.Lstat(path.Join(in.Root, "image", in.Snapshotter)); err == nil {
		return in.Snapshotter
	}
	entries, err := s.fs.ReadDir(path.Join(in.Root, "image"), 100)
	s.trouble(err)
	if len(entries) == 1 && entries[0].Type.IsDir() {
		return entries[0].Name
	}
	return in.Snapshotter
}

// nameImages gives containers that were created from the id of an image, as the kubelet does, the image's first name.
func (s *store) nameImages() {
	for _, c := range s.containers {
		if i := s.images[c.Image]; i != nil && len(i.Names) > 0 {
			c.Image = slices.Min(i.Names)
		}
	}
}

// readDockerImages reads image/<driver>/repositories.json and imagedb. The size is that of the layers, unpacked, from
// layerdb.
func readDockerImages(s *store, in install) error {
	at := path.Join(in.Root, "image", in.Snapshotter)
	entries, err := s.fs.ReadDir(path.Join(at, "imagedb/content/sha256"), maxPerRuntime)
	if err != nil && len(entries) == 0 {
		return err
	}
	s.trouble(err)
	for _, e := range entries {
		if !isID(e.Name) {
			continue
		}
		i := s.image("sha256:" + e.Name)
		i.ID = "sha256:" + e.Name
		if size, err := s.dockerSize(at, e.Name); err == nil {
			i.SizeBytes = &size
		} else {
			s.trouble(err)
		}
	}
	text, err := s.fs.ReadFile(path.Join(at, "repositories.json"), 4*maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var names struct{ Repositories map[string]map[string]string }
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	for _, tags := range names.Repositories {
		for name, id := range tags {
			if i := s.images[id]; i != nil && !slices.Contains(i.Names, name) {
				i.Names = append(i.Names, name)
			}
		}
	}
	return err
}

// dockerSize adds up the layers of an image. layerdb names them by chain: the digest of the chain below and the layer's
// own (OCI image specification, ChainID).
func (s *store) dockerSize(at, id string) (total int64, err error) {
	text, err := s.fs.ReadFile(path.Join(at, "imagedb/content/sha256", id), maxJSON)
	if err != nil {
		return 0, err
	}
	var image struct {
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	if err := json.Unmarshal(text, &image); err != nil {
		return 0, fmt.Errorf("image %s: %w", id, err)
	}
	chain := ""
	for _, diff := range image.RootFS.DiffIDs[:min(len(image.RootFS.DiffIDs), 200)] {
		if chain == "" {
			chain = diff
		} else {
			sum := sha256.Sum256([]byte(chain + " " + diff))
			chain = "sha256:" + hex.EncodeToString(sum[:])
		}
		_, sum, _ := strings.Cut(chain, ":")
		if !isID(sum) {
			return 0, fmt.Errorf("image %s: layer %.80q is not a digest", id, chain)
		}
		text, err := s.fs.ReadFile(path.Join(at, "layerdb/sha256", sum, "size"), 64)
		if err != nil {
			return 0, err
		}
		size, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("size of layer %s: %w", sum, err)
		}
		total += size
	}
	return total, nil
}
