package apidump

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Deleter is a controller other than the pod garbage collector that deletes a pod, or has deleted it.
type Deleter struct {
	// Who is the controller: "scheduler preemption", "taint eviction", "eviction API", "kubelet", "Job TTL",
	// "Argo Workflow", "garbage collector", "pod garbage collector".
	Who string `json:"who"`
	// Rule is its rule, the same for all pods that it deletes by that rule: a reason ("Evicted memory", "NodeShutdown"), a taint with its
	// node, the TTL of a Job, an owner that is deleted or being deleted.
	Rule string `json:"rule"`
	// Why is what the dump says about it.
	Why string `json:"why"`
	// When is since when, or when it will be; absent when the dump does not show it.
	When *time.Time `json:"when,omitempty"`
}

// disruptions are the reasons of the condition DisruptionTarget (k8s.io/api/core/v1, PodReason…).
var disruptions = map[string]string{
	"PreemptionByScheduler":     "scheduler preemption",
	"PreemptionByKubeScheduler": "scheduler preemption",
	"DeletionByTaintManager":    "taint eviction",
	"EvictionByEvictionAPI":     "eviction API",
	"DeletionByPodGC":           "pod garbage collector",
	"TerminationByKubelet":      "kubelet",
}

// Deleters are the controllers that delete a pod of the dump, by its conditions, its owners and the taints of its node.
func (x *Index) Deleters(p Pod) []Deleter {
	var found []Deleter
	if c := p.Disrupted; c != nil {
		who, ok := disruptions[c.Reason]
		if !ok {
			who = "unknown"
		}
		found = append(found, Deleter{Who: who, Rule: join(c.Reason, resource(c.Message)), Why: join("condition DisruptionTarget, reason "+c.Reason, c.Message), When: c.Since})
	} else if p.Evicted() {
		found = append(found, Deleter{Who: "kubelet", Rule: join("Evicted", resource(p.Message)), Why: join("status reason Evicted", p.Message)})
	} else if p.Reason == "Preempting" || p.Reason == "NodeShutdown" || p.Reason == "Terminated" {
		found = append(found, Deleter{Who: "kubelet", Rule: p.Reason, Why: join("status reason "+p.Reason, p.Message)})
	}
	found = append(found, x.ownersThatDelete(p.Object)...)
	return append(found, x.taintEvictions(p)...)
}

// VanishedBy are the controllers that may have deleted a pod that is not in the dump: owners that remove their pods or are being deleted,
// and that have a prefix of the pod's name as their name. It is a guess.
func (x *Index) VanishedBy(namespace, name string) []Deleter {
	var found []Deleter
	for _, i := range x.ownersNamed(namespace, name) {
		switch o := &x.dump.Owners[i]; {
		case o.Removal != "":
			found = append(found, Deleter{Who: removerOf(o.Kind), Rule: o.Kind + " " + o.ID(), Why: fmt.Sprintf("%s %s has %s", o.Kind, o.ID(), o.Removal)})
		case o.Deleting != nil:
			found = append(found, Deleter{Who: "garbage collector", Rule: o.Kind + " " + o.ID(), Why: fmt.Sprintf("%s %s is being deleted", o.Kind, o.ID()), When: o.Deleting})
		}
	}
	return found
}

// ownersThatDelete looks up the owners of an object, and theirs: a pod of a CronJob belongs to a Job.
func (x *Index) ownersThatDelete(object Object) []Deleter {
	var found []Deleter
	for _, ref := range object.Owners {
		i, ok := x.ownerOf[ref.UID]
		if !ok {
			if n := x.dump.Kinds[ref.Kind]; n > 0 {
				found = append(found, Deleter{
					Who: "garbage collector", Rule: ref.Kind + " " + Object{Namespace: object.Namespace, Name: ref.Name}.ID(),
					Why: fmt.Sprintf("its owner, %s %s, is not among the %d of that kind in the dump", ref.Kind, ref.Name, n),
				})
			}
			continue
		}
		owner := &x.dump.Owners[i]
		if owner.Removal != "" {
			found = append(found, Deleter{Who: removerOf(owner.Kind), Rule: owner.Removal, Why: fmt.Sprintf("its owner, %s %s, has %s", owner.Kind, owner.ID(), owner.Removal)})
		}
		if owner.Deleting != nil {
			found = append(found, Deleter{
				Who: "garbage collector", Rule: owner.Kind + " " + owner.ID(), Why: fmt.Sprintf("its owner, %s %s, is being deleted", owner.Kind, owner.ID()), When: owner.Deleting,
			})
		}
	}
	return found
}

func removerOf(kind string) string {
	if kind == "Workflow" {
		return "Argo Workflow"
	}
	return kind + " TTL"
}

// taintEvictions are the taints of a pod's node that evict it, at once or when its toleration runs out. Mirror pods and
// pods that have ended are spared.
func (x *Index) taintEvictions(p Pod) []Deleter {
	if p.Mirror != "" || p.Phase == "Succeeded" || p.Phase == "Failed" {
		return nil
	}
	i, ok := x.nodeOf[p.Node]
	if !ok {
		return nil
	}
	var found []Deleter
	for _, t := range x.dump.Nodes[i].Taints {
		if t.Effect != effectNoExecute {
			continue
		}
		tolerated, seconds := p.tolerates(t)
		if tolerated && seconds == nil {
			continue
		}
		e := Deleter{Who: "taint eviction", Rule: t.Key + " on " + p.Node, Why: fmt.Sprintf("node %s has the taint %s:NoExecute, which it does not tolerate", p.Node, t.Key), When: t.Added}
		if tolerated {
			e.Why = fmt.Sprintf("node %s has the taint %s:NoExecute, which it tolerates for %d s", p.Node, t.Key, *seconds)
			if t.Added != nil {
				end := t.Added.Add(time.Duration(*seconds) * time.Second)
				e.When = &end
			}
		}
		found = append(found, e)
	}
	return found
}

// tolerates says whether a pod tolerates a taint, and for how long; nil is for ever. The shortest of several counts.
func (p Pod) tolerates(t Taint) (bool, *int64) {
	tolerated := false
	var shortest *int64
	for _, toleration := range p.Tolerations {
		if !toleration.covers(t) {
			continue
		}
		tolerated = true
		if s := toleration.Seconds; s != nil && (shortest == nil || *s < *shortest) {
			shortest = s
		}
	}
	return tolerated, shortest
}

func (t Toleration) covers(taint Taint) bool {
	switch {
	case t.Key == "":
		return t.Operator == "Exists"
	case t.Key != taint.Key:
		return false
	}
	return t.Operator == "Exists" || t.Value == taint.Value
}

// UsersOf are the pods that use a claim, as indexes in Pods: those that have not terminated block its deletion
// (kube-controller-manager pkg/controller/volume/pvcprotection).
func (x *Index) UsersOf(c Claim) []int {
	return x.podsOf[c.ID()]
}

// VolumeOf is the volume that a claim is bound to, if the dump has it.
func (x *Index) VolumeOf(c Claim) (Volume, bool) {
	i, ok := x.volumeOf[c.Volume]
	if !ok || c.Volume == "" {
		return Volume{}, false
	}
	return x.dump.Volumes[i], true
}

// Lost says why the data of a claim is not accessible: its volume is missing, or is bound to nodes that do not exist; "" where it is
// accessible as far as the dump shows.
func (x *Index) Lost(c Claim) string {
	v, ok := x.VolumeOf(c)
	switch {
	case c.Volume == "":
		return ""
	case c.Phase == "Lost":
		return fmt.Sprintf("claim %s has lost its volume %s", c.ID(), c.Volume)
	case !ok && x.dump.Kinds["PersistentVolume"] > 0:
		return fmt.Sprintf("volume %s of claim %s is not in the dump", c.Volume, c.ID())
	case !ok || len(v.Nodes) == 0 || len(x.dump.Nodes) == 0:
		return ""
	}
	if slices.ContainsFunc(v.Nodes, func(n string) bool { _, ok := x.nodeOf[n]; return ok }) {
		return ""
	}
	return fmt.Sprintf("volume %s of claim %s is bound to node %s. That node does not exist", v.Name, c.ID(), strings.Join(v.Nodes, ", "))
}

// resource is what a kubelet evicted a pod for, by its message: a resource of the node, or a limit of the pod's own (pkg/kubelet/eviction,
// helpers.go, since 1.9). "" is none that is known here.
func resource(message string) string {
	if _, rest, ok := strings.Cut(message, "low on resource: "); ok {
		name, _, _ := strings.Cut(rest, " ")
		return strings.Trim(name, ".,[]")
	}
	for _, limit := range []struct{ words, of string }{
		{"Usage of EmptyDir volume ", "limit of an emptyDir"},
		{" exceeded its local ephemeral storage limit", "limit of a container"},
		{"Pod ephemeral local storage usage exceeds ", "limit of the pod"},
	} {
		if strings.Contains(message, limit.words) {
			return limit.of
		}
	}
	return ""
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + ": " + b
}
