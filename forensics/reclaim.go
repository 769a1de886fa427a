package forensics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// DiskOf is the superblock that takes what is written to a superblock: for an overlay, whose changes go to its upper
// directory, that of this directory; else the same.
func (m *Model) DiskOf(device string) string {
	for _, mount := range m.MountsOf(device) {
		if mount.FSType != "overlay" {
			return device
		}
		for option := range strings.SplitSeq(mount.SuperOptions, ",") {
			if upper, ok := strings.CutPrefix(option, "upperdir=/"); ok {
				if at, ok := m.host.Covering("/" + upper); ok {
					return at.Device
				}
			}
		}
	}
	return device
}

// PodUse is what a pod takes on the disk: emptyDir volumes, logs and writable layers, by which the kubelet ranks pods for
// eviction (pkg/kubelet/eviction/helpers.go, podDiskUsage), as far as it was counted.
type PodUse struct {
	UID   string
	Bytes int64
	// Critical says that it is not evicted: static, or of a priority of 2,000,000,000 and more.
	Critical bool
	// Priority is spec.priority, nil if unknown.
	Priority *int32
}

// criticalPriority is that of system-cluster-critical (pkg/apis/scheduling, SystemCriticalPriority).
const criticalPriority = 2_000_000_000

// PodsByUse ranks the pods that take space on a file system as the kubelet would evict them, as far as that can be known:
// lower priority first, then those that take more. Whether a pod exceeds its request for ephemeral storage, which comes
// before both, is not known here.
func (m *Model) PodsByUse(u eviction.Usage) []PodUse {
	byPod := map[string]*PodUse{}
	for _, item := range u.Items {
		switch item.Kind {
		case eviction.KindEmptyDir, eviction.KindLogs, eviction.KindWritable:
		default:
			continue
		}
		if state, _ := m.PodState(item.PodUID); item.PodUID == "" || state == PodOrphaned {
			continue
		}
		if byPod[item.PodUID] == nil {
			byPod[item.PodUID] = &PodUse{UID: item.PodUID}
		}
		byPod[item.PodUID].Bytes += item.Bytes
	}
	list := []PodUse{}
	for uid, use := range byPod {
		for _, p := range pick(m.evidence.Pods, m.index.podsNamed()[uid]) {
			use.Critical = use.Critical || static(p) || p.Priority != nil && *p.Priority >= criticalPriority
			use.Priority = cmp.Or(use.Priority, p.Priority)
		}
		list = append(list, *use)
	}
	sorting.Stable(list, func(a, b PodUse) int {
		if a.Critical != b.Critical {
			if a.Critical {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(priority(a), priority(b)), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.UID, b.UID))
	})
	return list
}

func priority(u PodUse) int32 {
	if u.Priority == nil {
		return 0
	}
	return *u.Priority
}

func static(p kubelet.Pod) bool { return p.Kind != "" || p.Source == "manifest" }

// UnusedImages are the images that no container was made from: what garbage collection and eviction may delete. Pinned
// ones are spared (1.23 and later). known is false where the runtime's files were not read.
func (m *Model) UnusedImages() (unused, pinned []runtimes.Image, known bool) {
	if ok, _ := m.evidence.Saw(SourceRuntime); !ok {
		return nil, nil, false
	}
	for _, image := range m.evidence.Images {
		switch {
		case len(image.Containers) > 0:
		case image.Pinned:
			pinned = append(pinned, image)
		default:
			unused = append(unused, image)
		}
	}
	return unused, pinned, true
}

// ImageSizes adds up what the runtime tells the kubelet of images, and counts those of which it is not known.
func ImageSizes(images []runtimes.Image) (sum int64, unknown int) {
	for _, image := range images {
		if image.SizeBytes == nil {
			unknown++
			continue
		}
		sum += *image.SizeBytes
	}
	return sum, unknown
}

// DestructionOrder says in which order the kubelet deletes when a threshold of a file system is crossed
// (pkg/kubelet/eviction/helpers.go, buildSignalToNodeReclaimFuncs).
func (m *Model) DestructionOrder(device string) []string {
	d := m.Disks()
	shared, known := d.Shared()
	if !known {
		return nil
	}
	roles := d.Roles(device)
	var steps []string
	split := ""
	if image, ok := d.Of(eviction.RoleImage); ok {
		if layers, ok := d.Of(eviction.RoleContainer); ok && layers.Device != image.Device {
			split = layers.Device
		}
	}
	if shared || slices.Contains(roles, eviction.RoleImage) || split == device {
		if split == "" || split == device {
			steps = append(steps, m.index.containerStep())
		}
		if split == "" || slices.Contains(roles, eviction.RoleImage) {
			steps = append(steps, m.index.imageStep())
		}
	}
	step := "pods, one every 10 s"
	if len(steps) == 0 {
		step = "pods at once, since images are on another file system: one every 10 s"
	}
	if rank := m.evictionRank(device); rank != "" {
		step += ", probably in this order: " + rank
	}
	return append(steps, step)
}

func (m *Model) containerStep() string {
	ended := 0
	for _, c := range m.evidence.Containers {
		if c.Finished != nil || c.Dead {
			ended++
		}
	}
	if ended == 0 {
		return "all containers that have ended"
	}
	return "all containers that have ended: " + text.Plural(ended, "container")
}

func (m *Model) imageStep() string {
	unused, pinned, known := m.UnusedImages()
	if !known {
		return "every image that no container uses and that is not pinned, not only down to the low threshold"
	}
	sum, _ := ImageSizes(unused)
	s := fmt.Sprintf("every image that no container uses, not only down to the low threshold: %s, %s as the runtime counts",
		text.Plural(len(unused), "image"), text.Bytes(sum))
	if len(pinned) > 0 {
		s += fmt.Sprintf(" (%d more are pinned and stay)", len(pinned))
	}
	return s + "; images that were not used since the kubelet started go first"
}

// evictionRank names the first pods of the order, "" where nothing was counted.
func (m *Model) evictionRank(device string) string {
	const most = 3
	u, ok := m.Disks().UsageOf(device)
	if !ok {
		return ""
	}
	var names []string
	for _, use := range m.PodsByUse(u) {
		if use.Critical || len(names) == most {
			break
		}
		names = append(names, fmt.Sprintf("%s with %s", m.Pod(use.UID), text.Bytes(use.Bytes)))
	}
	return strings.Join(names, ", ")
}

// ImageRisk is an image that a static pod or one of a DaemonSet needs, and that the kubelet may delete while no container
// of it exists.
type ImageRisk struct {
	Image runtimes.Image
	Name  string // as the pod names it
	Pods  []string
	// Never says that a pod must not pull it (imagePullPolicy: Never). Otherwise it may come back from a registry, which was
	// not asked.
	Never bool
	// Unused says that no container uses it at the moment: it can go with the next collection. Missing is why a container
	// waits for it, where the runtime has it no more ("ErrImageNeverPull").
	Unused  bool
	Missing string
}

// ImageRisks lists the images of static pods and of DaemonSets that are not pinned, those first that are missing already,
// then those that can go now. It is empty where the images of the runtime were not read.
func (m *Model) ImageRisks() []ImageRisk {
	risks := []ImageRisk{}
	if _, _, known := m.UnusedImages(); !known {
		return risks
	}
	at, pods := map[string]int{}, map[[2]string]bool{}
	for _, need := range m.imageNeeds() {
		image, ok := m.image(need.name)
		missing := !ok && notPulled(need.waiting)
		if !ok && !missing || image.Pinned || len(image.Containers) > 0 && need.policy != "Never" {
			continue
		}
		i, again := at[need.name]
		if !again {
			i = len(risks)
			at[need.name] = i
			risks = append(risks, ImageRisk{Image: image, Name: need.name, Unused: ok && len(image.Containers) == 0})
		}
		if missing {
			risks[i].Missing = need.waiting
		}
		risks[i].Never = risks[i].Never || need.policy == "Never"
		if named := [2]string{need.name, need.pod}; !pods[named] {
			pods[named] = true
			risks[i].Pods = append(risks[i].Pods, need.pod)
		}
	}
	sorting.Stable(risks, func(a, b ImageRisk) int {
		return cmp.Or(-compareBool(a.Missing != "", b.Missing != ""), -compareBool(a.Unused, b.Unused), -compareBool(a.Never, b.Never), cmp.Compare(a.Name, b.Name))
	})
	return risks
}

// notPulled says that a container waits for its image (pkg/kubelet/images/types.go).
func notPulled(waiting string) bool {
	return slices.Contains([]string{"ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff"}, waiting)
}

type imageNeed struct{ pod, name, policy, waiting string }

// imageNeeds are the images of static pods and of DaemonSets, as the kubelet, the manifests and a dump of the API tell.
func (m *Model) imageNeeds() []imageNeed {
	var needs []imageNeed
	for _, p := range m.evidence.Pods {
		if static(p) || p.OwnerKind == "DaemonSet" {
			for _, image := range p.Images {
				needs = append(needs, imageNeed{cmp.Or(p.UID, p.Namespace+"/"+p.Name), image.Name, image.PullPolicy, ""})
			}
		}
	}
	if m.evidence.Cluster == nil {
		return needs
	}
	names := []string{m.evidence.Node.Name}
	if k := m.evidence.Kubelet; k != nil && k.NodeName != "" {
		names = append(names, k.NodeName)
	}
	for _, p := range m.evidence.Cluster.Pods {
		daemon := slices.ContainsFunc(p.Owners, func(o apidump.Owner) bool { return o.Controller && o.Kind == "DaemonSet" })
		if p.Node == "" || !slices.Contains(names, p.Node) || p.Mirror == "" && !daemon {
			continue
		}
		for _, image := range p.Images {
			needs = append(needs, imageNeed{cmp.Or(p.UID, p.Namespace+"/"+p.Name), image.Name, image.PullPolicy, image.Waiting})
		}
	}
	return needs
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// image finds an image by the name that a pod has for it: with the default registry and tag that runtimes add
// (docker.io/library/busybox:latest for busybox).
func (m *Model) image(name string) (runtimes.Image, bool) {
	at := m.index.images()
	i, ok := at[normalImage(name)]
	if id, known := at["id "+name]; known && (!ok || id < i) {
		i, ok = id, true
	}
	if !ok {
		return runtimes.Image{}, false
	}
	return m.evidence.Images[i], true
}

// imagesByName are the positions of images by their normal names and, behind "id ", by their ids; the first counts.
func (m *Model) imagesByName() map[string]int32 {
	at := map[string]int32{}
	for i, image := range slices.Backward(m.evidence.Images) {
		at["id "+image.ID] = int32(i)
		for _, name := range image.Names {
			at[normalImage(name)] = int32(i)
		}
	}
	return at
}

// normalImage adds what may be left out of an image's name (github.com/distribution/reference, ParseNormalizedNamed).
func normalImage(name string) string {
	first, _, more := strings.Cut(name, "/")
	switch {
	case !more:
		name = "docker.io/library/" + name
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		name = "docker.io/" + name
	}
	if last := name[strings.LastIndexByte(name, '/')+1:]; !strings.ContainsAny(last, ":@") {
		name += ":latest"
	}
	return name
}
