package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// storyOfPod is what a story tells of one pod, which is given as namespace/name or as a UID. A line that has only one of these is found by
// the other if any line has both.
func (a *app) storyOfPod(story *logs.Story, pod string) (*logs.Story, error) {
	known := podsOf(story)
	uids, names := map[string]bool{}, map[string]bool{}
	for _, p := range known {
		if p.uid == pod || p.name == pod {
			uids[p.uid], names[p.name] = true, true
		}
	}
	if len(uids)+len(names) == 0 {
		return nil, fmt.Errorf("--pod %s: no line that was recognized names this pod%s", pod, others(known, pod))
	}
	delete(uids, "")
	delete(names, "")
	if len(uids) > 1 {
		a.note("%s is the name of %d pods in these logs; what follows is about all of them: %s", printable(pod), len(uids), printable(strings.Join(slices.Sorted(maps.Keys(uids)), ", ")))
	}
	one := *story
	is := func(uid, name string) bool { return uids[uid] || uid == "" && names[name] }
	one.Deletions = sorting.Delete(slices.Clone(one.Deletions), func(d logs.Deletion) bool { return !is(d.PodUID, d.PodName) })
	one.Operations = sorting.Delete(slices.Clone(one.Operations), func(o logs.Operation) bool { return !is(o.PodUID, o.PodName) })
	one.Events = sorting.Delete(slices.Clone(one.Events), func(e logs.Event) bool { return !is(e.PodUID, e.PodName) })
	one.Lives, one.Loop, one.Orphans = []logs.Life{}, nil, nil
	return &one, nil
}

// loggedPod is a pod as a line names it: by UID, by name, or by both.
type loggedPod struct{ uid, name string }

// podsOf are the pods that a story names.
func podsOf(story *logs.Story) []loggedPod {
	all := map[loggedPod]bool{}
	for _, d := range story.Deletions {
		all[loggedPod{d.PodUID, d.PodName}] = true
	}
	for _, o := range story.Operations {
		all[loggedPod{o.PodUID, o.PodName}] = true
	}
	for _, e := range story.Events {
		all[loggedPod{e.PodUID, e.PodName}] = true
	}
	delete(all, loggedPod{})
	list := slices.Collect(maps.Keys(all))
	sorting.Stable(list, func(a, b loggedPod) int { return strings.Compare(a.name+"\x00"+a.uid, b.name+"\x00"+b.uid) })
	return list
}

// maxOthers is how many pods an error names.
const maxOthers = 10

// others names the pods that a story does name.
func others(known []loggedPod, pod string) string {
	var names []string
	named := map[string]bool{}
	for _, p := range known {
		named[p.uid] = named[p.uid] || p.name != ""
	}
	for _, p := range known {
		name := p.name
		if name == "" && !named[p.uid] {
			name = p.uid
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if hint := didYouMean(pod, names, ""); hint != "" {
		return hint
	}
	if len(names) == 0 {
		return ", or any other"
	}
	list := "; they name " + strings.Join(names[:min(len(names), maxOthers)], ", ")
	if more := len(names) - maxOthers; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
