package logs

import (
	"time"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// deletions follows pods by UID, and by name where lines have no UID.
type deletions struct {
	byUID  map[string]*deletion
	byName map[string]*deletion
	// uids are the pods that lines with both named last, nameOf the reverse.
	uids, nameOf map[string]string
	// pods are the UIDs of the pods of containers, from PLEG events.
	pods  map[string]string
	all   []*deletion
	count int
	done  int
	// life counts the kubelets.
	life int
	// pruned counts the pods that ended and were forgotten, for want of room.
	pruned int64
	// removed is called for pods that no longer exist.
	removed func(uid string)
}

func newDeletions(removed func(uid string)) deletions {
	return deletions{
		removed: removed,
		byUID:   map[string]*deletion{}, byName: map[string]*deletion{}, uids: map[string]string{}, nameOf: map[string]string{},
		pods: map[string]string{},
	}
}

// add follows a line of a kubelet.
func (s *deletions) add(file string, o occurrence, drop func(Kind)) {
	switch o.Kind {
	case kindSyncLoopAdd:
		for _, p := range podsOf(&o) {
			s.added(p)
		}
		return
	case kindSyncLoopDelete, kindSyncLoopRemove:
		for _, p := range podsOf(&o) {
			one := o
			one.PodName, one.PodUID = p.PodName, p.PodUID
			s.step(file, one, drop)
		}
		return
	}
	if o.Kind == kindSyncLoopPLEG {
		s.belongs(o.Container, o.PodUID)
	}
	if o.PodUID == "" && o.PodName == "" {
		o.PodUID = s.podOf(&o)
	}
	if o.PodUID != "" || o.PodName != "" {
		s.step(file, o, drop)
	}
}

// belongs remembers the pod of a container.
func (s *deletions) belongs(container, uid string) {
	if container == "" || uid == "" {
		return
	}
	if len(s.pods) >= maxNames {
		clear(s.pods)
	}
	s.pods[container] = uid
}

// podOf finds the pod of a line that names a container alone: by PLEG events, by the pod that waits for the container, or,
// for the line that kills it, by which single pod was just deleted.
func (s *deletions) podOf(o *occurrence) string {
	if o.Container == "" || complaints[o.Kind] == "" && o.Kind != kindContainerExited && o.Kind != kindContainerKilling {
		return ""
	}
	if uid := s.pods[o.Container]; uid != "" {
		return uid
	}
	var requested []*deletion
	for _, d := range s.all {
		switch {
		case d.kills[o.Container]:
			return d.PodUID
		case !d.Done && d.Stage == StageRequested && !o.Time.IsZero() && distance(d.since, o.Time) < 5*time.Second:
			requested = append(requested, d)
		}
	}
	if o.Kind == kindContainerKilling && len(requested) == 1 {
		return requested[0].PodUID
	}
	return ""
}

// maxPodsOfLine bounds the pods that are read from one line.
const maxPodsOfLine = 200

// podsOf are the pods that a line of the sync loop names.
func podsOf(o *occurrence) []Subject {
	if list := o.Entry.Get("pods"); list != "" {
		return listOfPods(list, maxPodsOfLine)
	}
	var pods []Subject
	for rest := o.Entry.Message; len(pods) < maxPodsOfLine; {
		name, uid := formattedPod(rest)
		if uid == "" {
			break
		}
		pods = append(pods, Subject{PodName: name, PodUID: uid})
		_, rest, _ = cutAfter(rest, uid)
	}
	return pods
}

func cutAfter(s, sep string) (before, after string, found bool) {
	for i := 0; i+len(sep) <= len(s); i++ {
		if s[i:i+len(sep)] == sep {
			return s[:i], s[i+len(sep):], true
		}
	}
	return s, "", false
}

// added forgets which pod a name meant: another one may have it now, or a static pod with the same UID comes again. A
// deletion that is not finished keeps its name, because a kubelet that starts also adds the terminating pods.
func (s *deletions) added(p Subject) {
	if p.PodName == "" {
		return
	}
	uid := p.PodUID
	if uid == "" {
		uid = s.uids[p.PodName]
	}
	delete(s.uids, p.PodName)
	if p.PodUID != "" {
		s.learn(p)
	}
	if d := s.byUID[uid]; d != nil && (d.Done || d.gone) {
		delete(s.byUID, uid)
	}
	if d := s.byName[p.PodName]; d != nil && (d.Done || d.gone) {
		delete(s.byName, p.PodName)
	}
}

// learn remembers which UID a name has.
func (s *deletions) learn(p Subject) {
	if p.PodName == "" || p.PodUID == "" || s.uids[p.PodName] == p.PodUID {
		return
	}
	if len(s.uids) >= maxNames {
		clear(s.uids)
		clear(s.nameOf)
	}
	s.uids[p.PodName] = p.PodUID
	s.nameOf[p.PodUID] = p.PodName
}

// find is the deletion of a pod, nil if none is known. A line with both joins what was known of the name alone.
func (s *deletions) find(p *Subject) *deletion {
	s.learn(*p)
	if p.PodUID == "" {
		p.PodUID = s.uids[p.PodName]
	}
	if p.PodName == "" {
		p.PodName = s.nameOf[p.PodUID]
	}
	if p.PodUID != "" {
		if d := s.byUID[p.PodUID]; d != nil {
			if d.PodName == "" && p.PodName != "" {
				d.PodName = p.PodName
			}
			return d
		}
	}
	d := s.byName[p.PodName]
	if p.PodName == "" || d == nil || d.PodUID != "" && p.PodUID != "" || d.Done {
		return nil
	}
	if p.PodUID != "" {
		d.PodUID = p.PodUID
		s.byUID[p.PodUID] = d
	}
	return d
}

func (s *deletions) step(file string, o occurrence, drop func(Kind)) {
	if volumeFailures[o.Kind] && !o.isUnmount() {
		return
	}
	d := s.find(&o.Subject)
	if d != nil && d.Done && o.startsDeletion() && o.Kind != kindSyncLoopRemove {
		d = s.reopen(d, o)
	}
	if d == nil {
		if !o.startsDeletion() {
			return
		}
		if d = s.start(o, drop); d == nil {
			return
		}
	}
	d.life = s.life
	d.follow(file, o)
	if d.settle() {
		s.done++
		if d.Stage == StageRemoved {
			s.removed(d.PodUID)
		}
		s.prune()
	}
}

// reopen handles a line about a pod that seemed to be done: it was not, or the same static pod goes again.
func (s *deletions) reopen(d *deletion, o occurrence) *deletion {
	s.done--
	d.Done = false
	if o.Kind == kindPodTeardown || o.Kind == kindSyncLoopDelete { // once more from the beginning
		*d = deletion{Deletion: Deletion{PodUID: d.PodUID, PodName: d.PodName}, order: d.order, started: o.Time}
		d.kills, d.mounts = map[string]bool{}, map[string]bool{}
	}
	return d
}

func (s *deletions) start(o occurrence, drop func(Kind)) *deletion {
	if len(s.all) >= maxTracked {
		drop(o.Kind)
		return nil
	}
	d := &deletion{
		Deletion: Deletion{PodUID: o.PodUID, PodName: o.PodName},
		kills:    map[string]bool{}, mounts: map[string]bool{}, order: s.count, started: o.Time,
	}
	s.count++
	s.all = append(s.all, d)
	if o.PodUID != "" {
		s.byUID[o.PodUID] = d
	}
	if o.PodName != "" {
		s.byName[o.PodName] = d
	}
	return d
}

// prune forgets the oldest deletions that are done when there are many.
func (s *deletions) prune() {
	if s.done < 2*maxDeletions {
		return
	}
	remove := s.done - maxDeletions
	s.all = sorting.Delete(s.all, func(d *deletion) bool {
		if !d.Done || remove == 0 {
			return false
		}
		remove--
		s.done--
		if d.shown() {
			s.pruned++
		}
		if s.byUID[d.PodUID] == d {
			delete(s.byUID, d.PodUID)
		}
		if s.byName[d.PodName] == d {
			delete(s.byName, d.PodName)
		}
		return true
	})
}

// restarted forgets what the kubelet that ended had in its hands.
func (s *deletions) restarted() {
	s.life++
	for _, d := range s.all {
		clear(d.kills)
		clear(d.mounts)
	}
}
