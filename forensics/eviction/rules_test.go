package eviction

import (
	"path"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/cri"
)

// TestRulesOfEachRuntime: what a runtime keeps counts as what it is, wherever that is.
func TestRulesOfEachRuntime(t *testing.T) {
	for _, r := range cri.Runtimes() {
		if r.StoreOf != "" {
			continue
		}
		rules := Layout{Runtime: r.Name, Root: "/data/root", Images: "/images"}.Rules()
		check := func(root, dir, kind string) {
			name := path.Join(root, strings.ReplaceAll(dir, "*", "one"))
			if item, ok := rules.Classify(name, kindRuntime); !ok || item.Kind != kind {
				t.Errorf("%s: %s is %q, want %q", r.Name, name, item.Kind, kind)
			}
		}
		for _, root := range []string{"/data/root", "/images"} {
			for _, dir := range r.Store.Images {
				check(root, dir, KindImages)
			}
			for _, dir := range r.Store.Layers {
				check(root, dir, KindLayers)
			}
		}
		for _, dir := range r.Store.Logs {
			check("/data/root", dir, KindLogs)
		}
		for _, dir := range r.Store.Volumes {
			check("/data/root", dir, KindVolume)
		}
		if item, _ := rules.Classify("/data/root", KindOther); item.Kind != kindRuntime {
			t.Errorf("%s: the root is %q", r.Name, item.Kind)
		}
	}
}

// TestKindNames: each kind of data has words of its own.
func TestKindNames(t *testing.T) {
	said := map[string]string{KindName("x"): "what is unknown"}
	for _, kind := range []string{KindImages, KindLayers, KindWritable, KindLogs, KindEmptyDir, KindPod, kindKubelet, kindRuntime, KindVolume, KindJournal, KindDeleted} {
		if other, twice := said[KindName(kind)]; twice || KindName(kind) == "" {
			t.Errorf("%s and %s are both %q", kind, other, KindName(kind))
		}
		said[KindName(kind)] = kind
	}
}
