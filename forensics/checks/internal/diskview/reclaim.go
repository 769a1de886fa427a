package diskview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// PodUse is the disk usage of a pod, as far as it was counted: emptyDir volumes, logs and writable layers. The kubelet ranks pods for
// eviction by it (pkg/kubelet/eviction/helpers.go, podDiskUsage).
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

// PodsByUse ranks the pods with data on a file system as the kubelet would evict them: lower priority first, then larger usage.
// The kubelet first compares whether a pod exceeds its request for ephemeral storage; that is not known here.
func PodsByUse(p *forensics.Pass, u eviction.Usage) []PodUse {
	byPod := map[string]*PodUse{}
	for _, item := range u.Items {
		switch item.Kind {
		case eviction.KindEmptyDir, eviction.KindLogs, eviction.KindWritable:
		default:
			continue
		}
		if state, _ := p.Model.PodState(item.PodUID); item.PodUID == "" || state == forensics.PodOrphaned || state == forensics.PodLikelyOrphaned {
			continue
		}
		if byPod[item.PodUID] == nil {
			byPod[item.PodUID] = &PodUse{UID: item.PodUID}
		}
		byPod[item.PodUID].Bytes += item.Bytes
	}
	named := forensics.Once(p, "pods by either UID", func() map[string][]int { return podsNamed(p.Evidence.Pods) })
	list := []PodUse{}
	for uid, use := range byPod {
		for _, i := range named[uid] {
			pod := p.Evidence.Pods[i]
			use.Critical = use.Critical || static(pod) || pod.Priority != nil && *pod.Priority >= criticalPriority
			use.Priority = cmp.Or(use.Priority, pod.Priority)
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

func static(p kubelet.Pod) bool { return p.Kind != "" || p.FromManifest() }

// podsNamed finds pods by the UID of the kubelet and, of static ones, by that of the API.
func podsNamed(pods []kubelet.Pod) map[string][]int {
	at := map[string][]int{}
	for i, p := range pods {
		at[p.UID] = append(at[p.UID], i)
		if p.MirrorUID != p.UID {
			at[p.MirrorUID] = append(at[p.MirrorUID], i)
		}
	}
	return at
}

// DestructionOrder is the order in which the kubelet deletes things when a threshold of a file system is crossed
// (pkg/kubelet/eviction/helpers.go, buildSignalToNodeReclaimFuncs).
func DestructionOrder(p *forensics.Pass, device string) []string {
	d := State(p)
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
			steps = append(steps, forensics.Once(p, "containers that eviction deletes", func() string { return containerStep(p) }))
		}
		if split == "" || slices.Contains(roles, eviction.RoleImage) {
			steps = append(steps, forensics.Once(p, "images that eviction deletes", func() string { return imageStep(p) }))
		}
	}
	step := "pods, one every 10 s"
	if len(steps) == 0 {
		step = "pods at once, because images are on another file system: one every 10 s"
	}
	if rank := evictionRank(p, device); rank != "" {
		step += ", probably in this order: " + rank
	}
	return append(steps, step)
}

func containerStep(p *forensics.Pass) string {
	ended := 0
	for _, c := range p.Evidence.Containers {
		if c.Finished != nil || c.Dead {
			ended++
		}
	}
	if ended == 0 {
		return "all terminated containers"
	}
	return "all terminated containers: " + text.Plural(ended, "container")
}

func imageStep(p *forensics.Pass) string {
	unused, pinned, known := UnusedImages(p)
	if !known {
		return "every unused image that is not pinned, not only down to the low threshold"
	}
	sum, _ := ImageSizes(unused)
	s := fmt.Sprintf("every unused image, not only down to the low threshold: %s, %s as the runtime counts",
		text.Plural(len(unused), "image"), text.Bytes(sum))
	if len(pinned) > 0 {
		s += fmt.Sprintf(" (%d more are pinned and kept)", len(pinned))
	}
	return s + "; images not used since the kubelet started are deleted first"
}

// evictionRank names the first pods of the order, "" where nothing was counted.
func evictionRank(p *forensics.Pass, device string) string {
	const most = 3
	u, ok := State(p).UsageOf(device)
	if !ok {
		return ""
	}
	var names []string
	for _, use := range PodsByUse(p, u) {
		if use.Critical || len(names) == most {
			break
		}
		names = append(names, fmt.Sprintf("%s with %s", p.Model.Pod(use.UID), text.Bytes(use.Bytes)))
	}
	return strings.Join(names, ", ")
}
