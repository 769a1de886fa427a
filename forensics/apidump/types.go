// Package apidump reads a saved dump of API objects and replays what the control plane does with them: which pods the pod garbage
// collector deletes, which other controllers delete pods, and what blocks the deletion of a claim.
//
// A dump is what "kubectl get pods,nodes,pvc,pv -A -o json" prints: a List, the list of one kind, or a single object, in
// any number of files. Other objects are skipped. Nothing is masked: names are returned as they are. Package apidump/live asks a server.
//
// The rules are those of Kubernetes' controllers: pkg/controller/podgc/gc_controller.go, taint eviction, the TTL of finished
// Jobs, and pkg/controller/volume/pvcprotection.
package apidump

import (
	"cmp"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A Dump holds the objects of one or several files.
type Dump struct {
	Pods    []Pod    `json:"pods"`
	Nodes   []Node   `json:"nodes"`
	Claims  []Claim  `json:"claims"`
	Volumes []Volume `json:"volumes"`
	// Owners are objects that own pods: Jobs, Workflows, ReplicaSets, StatefulSets, DaemonSets and what else has
	// children in the dump.
	Owners []Object `json:"owners"`
	// Events are the objects of kind Event, each JSON on one line, for package logs. They are no part of the evidence.
	Events [][]byte `json:"-"`
	// Kinds counts the objects that were read, by kind ("Pod", "PersistentVolumeClaim"). A missing kind was not dumped, or has no
	// objects: the dump does not show which.
	Kinds map[string]int `json:"kinds"`
	// Saved is when the newest of the files was written; absent when unknown (standard input).
	Saved *time.Time `json:"saved,omitempty"`
	// NodeName is the node of which an API server has listed all pods, for its kubelet (apidump/live). Of other nodes there is nothing
	// then, nor of other kinds than its Node, unless files were read as well. Absent where no server was asked.
	NodeName string `json:"node_name,omitempty"`
	// TerminatedPodGCThreshold is --terminated-pod-gc-threshold of the kube-controller-manager, where it is known; absent
	// is its default of 12,500, and 0 or less turns that rule off.
	TerminatedPodGCThreshold *int `json:"terminated_pod_gc_threshold,omitempty"`
}

// An Object is what every object of the API has.
type Object struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// UID is "namespace/name" of a pod of which none is known.
	UID string `json:"uid,omitempty"`
	// Created is the creationTimestamp; absent when it cannot be read.
	Created *time.Time `json:"created,omitempty"`
	// Deleting is the deletionTimestamp, for pods the end of the grace period; absent when the object is not being deleted.
	Deleting   *time.Time `json:"deletion_timestamp,omitempty"`
	Finalizers []string   `json:"finalizers,omitempty"`
	Owners     []Owner    `json:"owner_references,omitempty"`
	// Removal says how the object removes its pods by itself: ttlSecondsAfterFinished of a Job, podGC and ttlStrategy of an
	// Argo Workflow; empty when it does not.
	Removal string `json:"removal,omitempty"`
	// Partial says that it was not read as the API has it, but from a description, a table or an event: what these do not show is not
	// known, as the finalizers of a pod.
	Partial bool `json:"partial,omitempty"`
}

// An Owner is one entry of ownerReferences.
type Owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
	Controller bool   `json:"controller,omitempty"`
}

// A Pod is the part of v1.Pod that matters here.
type Pod struct {
	Object
	Node  string `json:"node,omitempty"`
	Phase string `json:"phase,omitempty"`
	// Reason and Message are those of the status ("Evicted", "The node was low on resource: …").
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// GraceSeconds is the grace period of the deletion under way.
	GraceSeconds *int64 `json:"deletion_grace_seconds,omitempty"`
	// Mirror is the hash of the static pod that this one mirrors; "" for all others.
	Mirror string `json:"mirror,omitempty"`
	// Disrupted is the DisruptionTarget condition, since Kubernetes 1.26; Unscheduled is PodScheduled where it is False.
	Disrupted   *Condition `json:"disrupted,omitempty"`
	Unscheduled *Condition `json:"unscheduled,omitempty"`
	// Claims are the names of the PersistentVolumeClaims that its volumes use, those of generic ephemeral volumes included.
	Claims      []string     `json:"claims,omitempty"`
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// Selector is nodeSelector; in a trimmed dump only of unschedulable pods.
	Selector map[string]string `json:"node_selector,omitempty"`
	Images   []Image           `json:"images,omitempty"`
}

// A Condition is an entry of the status' conditions.
type Condition struct {
	Reason  string     `json:"reason,omitempty"`
	Message string     `json:"message,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
}

// A Toleration is an entry of spec.tolerations with an effect of NoExecute, or with none, which tolerates all.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	// Seconds is tolerationSeconds; absent is for ever.
	Seconds *int64 `json:"toleration_seconds,omitempty"`
}

// An Image is what a container runs.
type Image struct {
	Name string `json:"name"`
	// PullPolicy is "Always", "IfNotPresent" or "Never".
	PullPolicy string `json:"pull_policy,omitempty"`
	// Waiting is why its container does not start ("ImagePullBackOff"); empty when it is not waiting.
	Waiting string `json:"waiting,omitempty"`
}

// A Node is the part of v1.Node that matters here.
type Node struct {
	Object
	// Ready is the status of the Ready condition: "True", "False" or "Unknown"; empty where there is none.
	Ready string `json:"ready,omitempty"`
	// NotReady is the Ready condition where it is not True.
	NotReady *Condition `json:"not_ready,omitempty"`
	// Pressures are the conditions DiskPressure, MemoryPressure and PIDPressure that are True, with the kubelet's reason ("KubeletHasDiskPressure").
	Pressures []Condition `json:"pressures,omitempty"`
	Taints    []Taint     `json:"taints,omitempty"`
	// KubeletVersion is as the node reports it ("v1.34.4").
	KubeletVersion string `json:"kubelet_version,omitempty"`
}

// A Taint is an entry of spec.taints.
type Taint struct {
	Key    string     `json:"key"`
	Value  string     `json:"value,omitempty"`
	Effect string     `json:"effect,omitempty"`
	Added  *time.Time `json:"added,omitempty"`
}

// A Claim is a PersistentVolumeClaim.
type Claim struct {
	Object
	Phase string `json:"phase,omitempty"`
	// Volume is the name of the PersistentVolume that it is bound to.
	Volume string `json:"volume,omitempty"`
}

// A Volume is a PersistentVolume.
type Volume struct {
	Object
	Phase string `json:"phase,omitempty"`
	// Claim is "namespace/name" of the claim that it is bound to.
	Claim string `json:"claim,omitempty"`
	// Reclaim is the reclaim policy: with "Delete" the data is deleted with the volume.
	Reclaim string `json:"reclaim_policy,omitempty"`
	// Driver is the CSI driver, Source the kind of the source ("csi", "local", "hostPath", "nfs").
	Driver string `json:"csi_driver,omitempty"`
	Source string `json:"source,omitempty"`
	// Nodes are the nodes that node affinity by host name binds it to.
	Nodes []string `json:"nodes,omitempty"`
}

// ID is "namespace/name", or the name alone where there is no namespace.
func (o Object) ID() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// Terminated says whether a pod counts as terminated for the pod garbage collector: any phase but Pending, Running and
// Unknown, whether or not it is being deleted (kube-controller-manager pkg/controller/podgc/gc_controller.go).
func (p Pod) Terminated() bool {
	return p.Phase != "Pending" && p.Phase != "Running" && p.Phase != "Unknown"
}

// Evicted says whether a kubelet evicted the pod.
func (p Pod) Evicted() bool { return p.Phase == "Failed" && p.Reason == "Evicted" }

// Whole says whether there is an object that was read as the API has it.
func (d *Dump) Whole() bool {
	whole := func(o Object) bool { return !o.Partial }
	return slices.ContainsFunc(d.Pods, func(p Pod) bool { return whole(p.Object) }) || slices.ContainsFunc(d.Nodes, func(n Node) bool { return whole(n.Object) }) ||
		slices.ContainsFunc(d.Claims, func(c Claim) bool { return whole(c.Object) }) || slices.ContainsFunc(d.Volumes, func(v Volume) bool { return whole(v.Object) }) ||
		slices.ContainsFunc(d.Owners, whole)
}

// NewDump is a dump of nothing, with arrays that are empty, not nil.
func NewDump() Dump {
	return Dump{
		Pods: []Pod{}, Nodes: []Node{}, Claims: []Claim{}, Volumes: []Volume{}, Owners: []Object{}, Kinds: map[string]int{},
	}
}

// Merge adds the objects of another dump. An object that is in both, by its UID, is kept as the other has it, unless that shows it in part.
func (d *Dump) Merge(other Dump) {
	if len(d.Pods)+len(d.Nodes)+len(d.Claims)+len(d.Volumes)+len(d.Owners) == 0 {
		threshold, node := d.TerminatedPodGCThreshold, d.NodeName
		*d = other
		d.NodeName = cmp.Or(d.NodeName, node)
		if d.TerminatedPodGCThreshold == nil {
			d.TerminatedPodGCThreshold = threshold
		}
		return
	}
	merge(&d.Pods, other.Pods, func(p *Pod) *Object { return &p.Object })
	merge(&d.Nodes, other.Nodes, func(n *Node) *Object { return &n.Object })
	merge(&d.Claims, other.Claims, func(c *Claim) *Object { return &c.Object })
	merge(&d.Volumes, other.Volumes, func(v *Volume) *Object { return &v.Object })
	merge(&d.Owners, other.Owners, func(o *Object) *Object { return o })
	for kind, n := range other.Kinds {
		d.Kinds[kind] += n
	}
	if d.Saved == nil || other.Saved != nil && other.Saved.After(*d.Saved) {
		d.Saved = other.Saved
	}
	d.NodeName = cmp.Or(other.NodeName, d.NodeName)
	if other.TerminatedPodGCThreshold != nil {
		d.TerminatedPodGCThreshold = other.TerminatedPodGCThreshold
	}
}

// Trim leaves out what no question is about: tolerations where no taint of the pod's node evicts, and images that were
// there. In a large cluster they are most of the dump.
func (d *Dump) Trim() {
	evicting := map[string]bool{}
	for _, n := range d.Nodes {
		evicting[n.Name] = slices.ContainsFunc(n.Taints, func(t Taint) bool { return t.Effect == effectNoExecute })
	}
	for i := range d.Pods {
		p := &d.Pods[i]
		if !evicting[p.Node] {
			p.Tolerations = nil
		}
		if p.Unscheduled == nil {
			p.Selector = nil
		}
		p.Images = sorting.Delete(p.Images, func(i Image) bool { return i.Waiting == "" && i.PullPolicy != "Never" })
		if len(p.Images) == 0 {
			p.Images = nil
		}
	}
}

func merge[T any](have *[]T, more []T, object func(*T) *Object) {
	objects := func(list []T) []*Object {
		all := make([]*Object, len(list))
		for i := range list {
			all[i] = object(&list[i])
		}
		return all
	}
	for i, at := range places(objects(*have), objects(more)) {
		switch {
		case at == len(*have):
			*have = append(*have, more[i])
		case at >= 0:
			(*have)[at] = more[i]
		}
	}
}

// places are where objects go in a list of others: in the place of one, behind the last, or nowhere (-1). It is the part of merge that is the
// same for all types.
func places(list, more []*Object) []int {
	at := make(map[string]int, 2*len(list))
	for i, o := range list {
		at[o.name()], at[o.key()] = i, i
	}
	all := make([]int, len(more))
	for k, o := range more {
		i, ok := at[o.key()]
		if !ok && o.Partial { // a row of a table has no UID
			i, ok = at[o.name()]
		}
		switch {
		case !ok:
			i = len(list)
			at[o.key()] = i
			list = append(list, o)
		case o.Partial && !list[i].Partial:
			i = -1
		default:
			list[i] = o
		}
		all[k] = i
	}
	return all
}

func (o Object) key() string {
	if o.UID != "" {
		return o.UID
	}
	return o.name()
}

func (o Object) name() string { return o.Kind + " " + o.ID() }
