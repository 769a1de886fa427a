// Package logview is how checks read the logs: events by kind and pod, when a message was written and whether it was current when the log
// ended, quotes as references, and what several checks need about the sync loop, the runtime, disk pressure, CSI drivers and volumes.
package logview

import (
	"maps"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Needs is what checks about logs alone need.
var Needs = []forensics.Need{{forensics.SourceLogs}}

// Story is what was read from the logs; empty where none was read.
func Story(p *forensics.Pass) *logs.Story {
	if p.Evidence.Logs == nil {
		return &logs.Story{}
	}
	return p.Evidence.Logs
}

// SawKubelet says whether the log of a kubelet was read; if not, the check is not judged.
func SawKubelet(p *forensics.Pass) bool {
	s := Story(p)
	if s.Loop != nil || len(s.Lives) > 0 {
		return true
	}
	p.Unjudged("no kubelet log was read")
	return false
}

// OrKubelet leaves the check unjudged where none of the sources nor the kubelet's log was read; one of them is enough.
func OrKubelet(p *forensics.Pass, sources ...string) {
	for _, source := range sources {
		if ok, _ := p.Evidence.Saw(source); ok {
			return
		}
	}
	SawKubelet(p)
}

// Events lists those of some kinds, in the order of their first.
func Events(p *forensics.Pass, kinds ...logs.Kind) []logs.Event {
	byKind := forensics.Once(p, "events by kind", func() map[logs.Kind][]int {
		at := map[logs.Kind][]int{}
		for i, e := range Story(p).Events {
			if !over(p, e) {
				at[e.Kind] = append(at[e.Kind], i)
			}
		}
		return at
	})
	var at []int
	for _, kind := range kinds {
		at = append(at, byKind[kind]...)
	}
	return eventsAt(p, at)
}

// eventsAt are events by their positions, each once and in order.
func eventsAt(p *forensics.Pass, at []int) []logs.Event {
	slices.Sort(at)
	var found []logs.Event
	for _, i := range slices.Compact(at) {
		found = append(found, Story(p).Events[i])
	}
	return found
}

// PodEvents lists those of some kinds that are about a pod, by its UID, or by its name where the line or the caller has no UID.
func PodEvents(p *forensics.Pass, uid, name string, kinds ...logs.Kind) []logs.Event {
	type index struct{ uid, name map[string][]int }
	byPod := forensics.Once(p, "events by pod", func() index {
		at := index{map[string][]int{}, map[string][]int{}}
		for i, e := range Story(p).Events {
			if e.PodUID != "" {
				at.uid[e.PodUID] = append(at.uid[e.PodUID], i)
			}
			if e.PodName != "" {
				at.name[e.PodName] = append(at.name[e.PodName], i)
			}
		}
		return at
	})
	return sorting.Delete(eventsAt(p, slices.Concat(byPod.uid[uid], byPod.name[name])), func(e logs.Event) bool {
		if e.PodUID != "" && uid != "" {
			return e.PodUID != uid || !slices.Contains(kinds, e.Kind)
		}
		return e.PodName == "" || e.PodName != name || !slices.Contains(kinds, e.Kind)
	})
}

// Count counts the messages of a list.
func Count(list []logs.Event) (n int64) {
	for _, e := range list {
		n += e.Count
	}
	return n
}

// UIDOf is the pod's UID, by its name where the line has none; "" if that is not known, or not unique.
func UIDOf(p *forensics.Pass, s logs.Subject) string {
	if s.PodUID != "" || s.PodName == "" {
		return s.PodUID
	}
	return forensics.Once(p, "UIDs by name", func() map[string]string { return uidsByName(p) })[s.PodName]
}

// uidsByName are the UIDs of pods by "namespace/name", as the lists of pods have them, or else the logs; "" for a name that
// several have.
func uidsByName(p *forensics.Pass) map[string]string {
	listed, logged := map[string]string{}, map[string]string{}
	note := func(uids map[string]string, name, uid string) {
		if old, ok := uids[name]; ok && old != uid {
			uid = ""
		}
		uids[name] = uid
	}
	for _, pod := range p.Evidence.Pods {
		if pod.UID != "" {
			note(listed, pod.Namespace+"/"+pod.Name, pod.UID)
		}
	}
	for _, d := range Story(p).Deletions {
		if d.PodUID != "" {
			note(logged, d.PodName, d.PodUID)
		}
	}
	for _, e := range Story(p).Events {
		if e.PodUID != "" && e.PodName != "" {
			note(logged, e.PodName, e.PodUID)
		}
	}
	maps.Copy(logged, listed)
	return logged
}

// FewFailures is how often an operation must fail to count as failing.
const FewFailures = 3

// volumeMounts are the mounts of one volume of a pod, its subpaths included, found by the volume's name.
func volumeMounts(p *forensics.Pass, uid, volume string) []forensics.Entity {
	var found []forensics.Entity
	if uid == "" || volume == "" {
		return nil
	}
	for _, m := range p.Model.PodMounts(uid) {
		if _, v := forensics.PodOf(m.MountPoint); v != "" && strings.HasSuffix(v, "/"+volume) {
			found = append(found, forensics.MountEntity(m.ID))
		}
	}
	return found
}
