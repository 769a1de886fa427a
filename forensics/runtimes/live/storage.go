package live

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// readStoredImages reads <driver>-images/images.json and, for the sizes, <driver>-layers/layers.json.
func readStoredImages(s *store, in install) error {
	text, err := s.fs.ReadFile(path.Join(in.Root, in.Snapshotter+"-images", "images.json"), 16*maxJSON)
	if err != nil {
		return err
	}
	var images []struct {
		ID      string           `json:"id"`
		Digest  string           `json:"digest"`
		Names   []string         `json:"names"`
		Layer   string           `json:"layer"`
		Created string           `json:"created"`
		Sizes   map[string]int64 `json:"big-data-sizes"`
	}
	if err := json.Unmarshal(text, &images); err != nil {
		return fmt.Errorf("images.json: %w", err)
	}
	layers, err := readStoredLayers(s, in)
	s.trouble(err)
	for _, stored := range images[:min(len(images), maxPerRuntime)] {
		i := s.image(stored.ID)
		i.ID, i.Digest, i.Names, i.Created = imageID(stored.ID), stored.Digest, append(i.Names, stored.Names...), timeText(stored.Created)
		if size, ok := layers.size(stored.Layer); ok {
			for _, n := range stored.Sizes {
				size += n
			}
			i.SizeBytes = &size
		}
		i.Pinned = slices.ContainsFunc(stored.Names, func(name string) bool {
			return slices.ContainsFunc(in.pinned, func(pattern string) bool { return pinMatches(pattern, name) })
		})
	}
	return nil
}

type storedLayer struct {
	ID     string `json:"id"`
	Parent string `json:"parent"`
	Size   int64  `json:"diff-size"`
}

type storedLayers map[string]storedLayer

func readStoredLayers(s *store, in install) (storedLayers, error) {
	text, err := s.fs.ReadFile(path.Join(in.Root, in.Snapshotter+"-layers", "layers.json"), 16*maxJSON)
	if err != nil {
		return nil, err
	}
	var list []storedLayer
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("layers.json: %w", err)
	}
	layers := storedLayers{}
	for _, l := range list {
		layers[l.ID] = l
	}
	return layers, nil
}

// size adds up a layer and those below it; false where one is missing.
func (layers storedLayers) size(id string) (total int64, ok bool) {
	for range 200 { // more than any driver stacks
		l, ok := layers[id]
		if !ok || l.Size < 0 {
			return 0, false
		}
		if total += l.Size; l.Parent == "" {
			return total, true
		}
		id = l.Parent
	}
	return 0, false
}

// pinMatches says whether a pattern of pinned_images matches: exact, a beginning ("quay.io/a/*"), or a part ("*b*").
func pinMatches(pattern, name string) bool {
	inner, open := strings.CutSuffix(pattern, "*")
	switch {
	case pattern == "" || inner == "":
		return false
	case open && strings.HasPrefix(inner, "*"):
		return strings.Contains(name, inner[1:])
	case open:
		return strings.HasPrefix(name, inner)
	}
	return pattern == name
}

// imageID spells an id as the kubelet does, with its algorithm.
func imageID(id string) string {
	if isID(id) {
		return "sha256:" + id
	}
	return id
}
