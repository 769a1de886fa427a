package kubelet

import "time"

// A Pod is a pod that some source says exists.
type Pod struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Source is "kubelet" (/pods, or its Pods API), "manifest" (a static pod's file), "runtime" (a sandbox or container on disk),
	// "cgroup", "process", "log-dir", "allocation" (the kubelet's allocated_pods_state), "state" (another state file of the kubelet).
	Source string `json:"source"`
	Phase  string `json:"phase,omitempty"`
	// Deleting is the deletionTimestamp; absent when none.
	Deleting *time.Time `json:"deletion_timestamp,omitempty"`
	// MirrorUID is the UID of the mirror pod in the API, or the config hash, where it differs from UID.
	MirrorUID string `json:"mirror_uid,omitempty"`
	// Kind is "static" (from a manifest of this node) or "mirror" (the API's image of a static pod); absent for others,
	// and where the source does not tell.
	Kind string `json:"kind,omitempty"`
	// OwnerKind is the kind of its controller ("DaemonSet", "ReplicaSet"); absent where it has none, or the source does
	// not say.
	OwnerKind string `json:"owner_kind,omitempty"`
	// Priority is spec.priority; absent where the source does not say.
	Priority *int32 `json:"priority,omitempty"`
	// Images are those of its containers, init containers included, each once; absent where the source does not say.
	Images []PodImage `json:"images,omitempty"`
}

// A PodImage is the image of a container as the pod names it.
type PodImage struct {
	Name string `json:"name"`
	// PullPolicy is "Always", "IfNotPresent" or "Never"; absent where the API server would still set the default.
	PullPolicy string `json:"pull_policy,omitempty"`
}

// PodFromRuntime is the Source of a pod of which a runtime keeps a sandbox or container.
const PodFromRuntime = "runtime"

// Other values of Pod.Source.
const (
	fromKubelet  = "kubelet"
	fromManifest = "manifest"
	fromLogDir   = "log-dir"
	fromAlloc    = "allocation"
	fromState    = "state"
)

// FromKubelet says whether the pod is in the kubelet's own list.
func (p Pod) FromKubelet() bool { return p.Source == fromKubelet }

// FromManifest says whether the pod is that of a file for static pods.
func (p Pod) FromManifest() bool { return p.Source == fromManifest }

// FromLogDir says whether nothing but a directory of logs names the pod, which outlives it.
func (p Pod) FromLogDir() bool { return p.Source == fromLogDir }

// FromAllocation says whether the pod is in the kubelet's allocated_pods_state (1.33): it was admitted, and not forgotten since.
func (p Pod) FromAllocation() bool { return p.Source == fromAlloc }

// FromState says whether nothing but a state file of the kubelet names the pod. The kubelet removes it there some time after the pod.
func (p Pod) FromState() bool { return p.Source == fromAlloc || p.Source == fromState }

// The kinds of pods that do not come from the API alone.
const (
	KindStatic = "static"
	KindMirror = "mirror"
)
