package diskview

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// ImageRisk is an image that a static pod or a pod of a DaemonSet needs. The kubelet may delete it while no container uses it.
type ImageRisk struct {
	Image runtimes.Image
	Name  string // as the pod names it
	Pods  []string
	// Never says that a pod must not pull it (imagePullPolicy: Never). Otherwise a registry may have it; no registry was queried.
	Never bool
	// Unused says that no container uses it at the moment: the next collection can delete it. Missing is why a container waits for
	// it, where the runtime no longer has it ("ErrImageNeverPull").
	Unused  bool
	Missing string
}

// ImageRisks lists the images of static pods and of DaemonSets that are not pinned: missing ones first, then those that can be deleted
// now. It is empty where the images of the runtime were not read.
func ImageRisks(p *forensics.Pass) []ImageRisk {
	risks := []ImageRisk{}
	if _, _, known := UnusedImages(p); !known {
		return risks
	}
	at, pods := map[string]int{}, map[[2]string]bool{}
	for _, need := range imageNeeds(p) {
		image, ok := findImage(p, need.name)
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

// imageNeeds are the images of static pods and of DaemonSets, from the kubelet, the manifests and an API dump.
func imageNeeds(p *forensics.Pass) []imageNeed {
	var needs []imageNeed
	for _, pod := range p.Evidence.Pods {
		if static(pod) || pod.OwnerKind == "DaemonSet" {
			for _, image := range pod.Images {
				needs = append(needs, imageNeed{cmp.Or(pod.UID, pod.Namespace+"/"+pod.Name), image.Name, image.PullPolicy, ""})
			}
		}
	}
	if p.Evidence.Cluster == nil {
		return needs
	}
	names := []string{p.Evidence.Node.Name}
	if k := p.Evidence.Kubelet; k != nil && k.NodeName != "" {
		names = append(names, k.NodeName)
	}
	for _, pod := range p.Evidence.Cluster.Pods {
		daemon := slices.ContainsFunc(pod.Owners, func(o apidump.Owner) bool { return o.Controller && o.Kind == "DaemonSet" })
		if pod.Node == "" || !slices.Contains(names, pod.Node) || pod.Mirror == "" && !daemon {
			continue
		}
		for _, image := range pod.Images {
			needs = append(needs, imageNeed{cmp.Or(pod.UID, pod.Namespace+"/"+pod.Name), image.Name, image.PullPolicy, image.Waiting})
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

// findImage finds an image by the name that a pod has for it: with the default registry and tag that runtimes add
// (docker.io/library/busybox:latest for busybox).
func findImage(p *forensics.Pass, name string) (runtimes.Image, bool) {
	at := forensics.Once(p, "images by name", func() map[string]int32 { return imagesByName(p.Evidence.Images) })
	i, ok := at[normalImage(name)]
	if id, known := at["id "+name]; known && (!ok || id < i) {
		i, ok = id, true
	}
	if !ok {
		return runtimes.Image{}, false
	}
	return p.Evidence.Images[i], true
}

// imagesByName are the positions of images by their normal names and, behind "id ", by their ids; the first counts.
func imagesByName(images []runtimes.Image) map[string]int32 {
	at := map[string]int32{}
	for i, image := range slices.Backward(images) {
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
