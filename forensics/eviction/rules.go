package eviction

import (
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

// The kinds of data that use space.
const (
	KindImages   = "images"             // what the runtime keeps of images: compressed content and their metadata
	KindLayers   = "layers"             // unpacked layers of images; in containerd also of containers that do not run
	KindWritable = "container-writable" // the writable layer of a container
	KindLogs     = "container-logs"
	KindEmptyDir = "empty-dir"
	KindPod      = "pod"         // the rest of a pod's directory
	kindKubelet  = "kubelet"     // the rest of the kubelet's directory
	kindRuntime  = "runtime"     // the rest of the runtime's directory
	KindVolume   = "volume-data" // a directory named after a volume claim (hostPath, local-path)
	KindJournal  = "journal"
	KindDeleted  = "deleted-open" // files without a name that are open
	KindOther    = "other"
)

// Layout is where on a node what is; paths are canonical.
type Layout struct {
	KubeletRoot, PodLogs string
	// Runtime, Root and Images are those of a Store.
	Runtime, Root, Images string
	// Writable are the directories of writable layers of containers, and the ids of these.
	Writable map[string]string
}

// A rule says what the directories of a path pattern are; "*" stands for one component.
type rule struct {
	pattern []string
	kind    string
}

// Rules say what the directories of a node are, by their paths.
type Rules struct {
	// byDepth has those for paths of so many components; they are tried from the last to the first: the more special ones
	// come later.
	byDepth  [][]rule
	writable map[string]string
}

// Rules are those for a layout.
func (l Layout) Rules() Rules {
	var list []rule
	add := func(kind string, patterns ...string) {
		for _, p := range patterns {
			if p != "" {
				list = append(list, rule{strings.Split(strings.Trim(path.Clean(p), "/"), "/"), kind})
			}
		}
	}
	add(KindOther, "/*", "/var/*", "/var/lib/*", "/var/log/*", "/var/snap/*", "/opt/*", "/home/*", "/srv/*", "/mnt/*", "/data/*")
	add(KindJournal, "/var/log/journal")
	if l.Root != "" {
		add(kindRuntime, l.Root)
	}
	runtime, _ := cri.Of(l.Runtime)
	below := func(root, kind string, dirs []string) {
		for _, dir := range dirs {
			add(kind, path.Join(root, dir))
		}
	}
	for _, root := range []string{l.Root, l.Images} {
		below(root, KindImages, runtime.Store.Images)
		below(root, KindLayers, runtime.Store.Layers)
	}
	below(l.Root, KindLogs, runtime.Store.Logs)
	below(l.Root, KindVolume, runtime.Store.Volumes)
	if l.KubeletRoot != "" {
		add(kindKubelet, l.KubeletRoot)
		add(KindPod, path.Join(l.KubeletRoot, "pods/*"))
		add(KindEmptyDir, path.Join(l.KubeletRoot, "pods/*/volumes/kubernetes.io~empty-dir"))
	}
	if l.PodLogs != "" {
		add(KindLogs, path.Join(l.PodLogs, "*"))
	}
	byDepth := [][]rule{}
	for _, r := range list {
		for len(byDepth) <= len(r.pattern) {
			byDepth = append(byDepth, nil)
		}
		byDepth[len(r.pattern)] = append(byDepth[len(r.pattern)], r)
	}
	return Rules{byDepth: byDepth, writable: l.Writable}
}

func (r rule) matches(parts []string) bool {
	for i, p := range r.pattern {
		if p != "*" && p != parts[i] {
			return false
		}
	}
	return true
}

// claim is the name that a provisioner gives a volume claim's directory.
var claim = pattern.New(`pvc-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// Classify says what a directory below one of a kind is; false if it is no more than a part of that.
func (r Rules) Classify(name, above string) (Item, bool) {
	if id, ok := r.writable[name]; ok {
		return Item{Kind: KindWritable, Path: name, ContainerID: id}, true
	}
	if above == KindOther && strings.Contains(path.Base(name), "pvc-") && claim.MatchString(path.Base(name)) {
		return Item{Kind: KindVolume, Path: name, Claim: claimOf(path.Base(name))}, true
	}
	parts := strings.Split(strings.Trim(name, "/"), "/")
	if len(parts) >= len(r.byDepth) {
		return Item{}, false
	}
	for _, rule := range slices.Backward(r.byDepth[len(parts)]) {
		if rule.matches(parts) {
			return Item{Kind: rule.kind, Path: name, PodUID: uidOf(rule, parts)}, true
		}
	}
	return Item{}, false
}

// uidOf is the pod that a directory of logs or of the kubelet's belongs to.
func uidOf(r rule, parts []string) string {
	switch r.kind {
	case KindPod:
		return uidIn(parts[len(parts)-1])
	case KindEmptyDir:
		return uidIn(parts[len(parts)-3])
	case KindLogs:
		name := parts[len(parts)-1]
		return uidIn(name[strings.LastIndexByte(name, '_')+1:])
	}
	return ""
}

func uidIn(s string) string {
	if poduid.Valid(s) {
		return s
	}
	return ""
}

// claimOf is "namespace/claim" of a directory as local-path-provisioner names it, pvc-<uid>_<namespace>_<claim>; "" where
// the name says less.
func claimOf(name string) string {
	if parts := strings.SplitN(name, "_", 3); len(parts) == 3 && claim.MatchString(parts[0]) {
		return parts[1] + "/" + parts[2]
	}
	return ""
}
