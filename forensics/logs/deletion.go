package logs

import (
	"slices"
	"time"
)

// Stages of a deletion, as in Deletion.Stage, in their order.
const (
	stageRequested  = "requested"
	stageKilling    = "killing"
	stageContainers = "containers"
	stageVolumes    = "volumes"
	stageCgroup     = "cgroup"
	stageStatus     = "status"
	stageAPI        = "api"
	stageRemoved    = "removed"
)

var deletionStages = []string{
	stageRequested, stageKilling, stageContainers, stageVolumes, stageCgroup, stageStatus, stageAPI, stageRemoved,
}

func stageRank(s string) int { return slices.Index(deletionStages, s) }

// steps are the messages that bring a deletion to a stage: it stands there from then on.
var steps = map[Kind]string{
	KindSyncLoopDelete:       stageRequested,
	KindSyncLoopRemove:       stageRequested, // of a static pod, or by force
	KindPodTeardown:          stageKilling,
	KindPodSyncCancelled:     stageKilling,
	KindPodTerminating:       stageKilling,
	KindContainerKilling:     stageContainers,
	KindPodContainersStopped: stageVolumes,
	KindPodTerminatedSync:    stageVolumes,
	KindPodVolumesWaiting:    stageVolumes,
	KindUnmountStarted:       stageVolumes,
	KindPodVolumesUnmounted:  stageVolumes, // the directories come next
	KindPodVolumePathsClean:  stageCgroup,
	KindPodCgroupRemoved:     stageStatus,
	KindPodStatusFinal:       stageAPI,
	KindPodRemovedFromAPI:    stageAPI,
	KindPodForgotten:         stageRemoved,
	KindOrphanDirRemoved:     stageRemoved,
}

// complaints are messages that a deletion repeats while it stands, with the stage at which it does.
var complaints = map[Kind]string{
	KindPodVolumesLeft:      stageVolumes,
	KindPodVolumesWaiting:   stageVolumes,
	KindPodContainersLeft:   stageContainers,
	KindPodKillIncomplete:   stageContainers,
	KindPodKillFailed:       stageContainers,
	KindContainerStopFailed: stageContainers,
	KindSandboxStopFailed:   stageContainers,
	KindCNIDeleteFailed:     stageContainers,
	KindPreStopUnfinished:   stageContainers,
	KindPodCgroupLeft:       stageCgroup,
	KindCgroupDeleteFailed:  stageCgroup,
	KindPodStatusFailed:     stageStatus,
	KindPodDeleteFailed:     stageAPI,
	KindPodDeleteDelayed:    stageStatus,
	KindPodRestartBlocked:   stageKilling,
	KindEvictionFailed:      stageContainers,
	KindOrphanMounted:       stageVolumes,
	KindUnmountBusy:         stageVolumes,
	KindUnmountFailed:       stageVolumes,
	KindCSIDriverMissing:    stageVolumes,
	KindCSIAborted:          stageVolumes,
	KindCSIDeadline:         stageVolumes,
	KindCSIUnavailable:      stageVolumes,
	KindCSIFailed:           stageVolumes,
	KindCSIVolDataMissing:   stageVolumes,
}

// starts are the messages that only a pod on its way out has. Containers are also killed to be started again.
var starts = map[Kind]bool{
	KindSyncLoopDelete: true, KindSyncLoopRemove: true, KindPodTeardown: true, KindPodTerminating: true,
	KindPodContainersStopped: true, KindPodTerminatedSync: true, KindPodVolumesWaiting: true, KindUnmountStarted: true,
	KindPodVolumesLeft: true, KindPodContainersLeft: true, KindPodCgroupLeft: true, KindPodKillFailed: true,
	KindPodKillIncomplete: true,
}

// volumeFailures are complaints when it is an unmount that failed.
var volumeFailures = map[Kind]bool{
	KindUnmountBusy: true, KindUnmountFailed: true, KindCSIDriverMissing: true, KindCSIAborted: true,
	KindCSIDeadline: true, KindCSIUnavailable: true, KindCSIFailed: true, KindCSIVolDataMissing: true,
}

// startsDeletion says whether only a pod on its way out has such a line.
func (o *Occurrence) startsDeletion() bool {
	return starts[o.Kind] || volumeFailures[o.Kind] && o.isUnmount()
}

func (o *Occurrence) isUnmount() bool { return operationOf(o.Entry.Message) == opUnmountVolume }

// deletion is one pod on its way out.
type deletion struct {
	Deletion
	since, started time.Time
	// deleted says that the API server asked for it, gone that its object, or its static file, is no more.
	deleted, gone bool
	// kills are containers that were told to end and have not; mounts are volumes whose unmount has begun and not ended.
	kills, mounts map[string]bool
	complaints    []complaint
	cancelled     bool
	teardown      string
	order         int
}

type complaint struct {
	kind   Kind
	stage  string
	reason string
	code   string
	volume string
	time   time.Time
	quote  Quote
}

// deletions follows pods by UID, and by name where lines have no UID.
type deletions struct {
	byUID  map[string]*deletion
	byName map[string]*deletion
	// uids are the pods that lines with both named last, nameOf the reverse.
	uids, nameOf map[string]string
	all          []*deletion
	count        int
	done         int
}

func newDeletions() deletions {
	return deletions{
		byUID: map[string]*deletion{}, byName: map[string]*deletion{}, uids: map[string]string{}, nameOf: map[string]string{},
	}
}

// add follows a line of a kubelet.
func (s *deletions) add(file string, o Occurrence, drop func(Kind)) {
	switch o.Kind {
	case KindSyncLoopAdd:
		for _, p := range podsOf(&o) {
			s.added(p)
		}
		return
	case KindSyncLoopDelete, KindSyncLoopRemove:
		for _, p := range podsOf(&o) {
			one := o
			one.PodName, one.PodUID = p.PodName, p.PodUID
			s.step(file, one, drop)
		}
		return
	}
	if o.PodUID == "" && o.PodName == "" {
		s.byContainer(file, o)
		return
	}
	s.step(file, o, drop)
}

// maxPodsOfLine bounds the pods that are read from one line.
const maxPodsOfLine = 200

// podsOf are the pods that a line of the sync loop names.
func podsOf(o *Occurrence) []Subject {
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

// added forgets which UID a name had: another pod may have it now.
func (s *deletions) added(p Subject) {
	if p.PodName == "" {
		return
	}
	delete(s.uids, p.PodName)
	if p.PodUID != "" {
		s.learn(p)
	}
	if d := s.byName[p.PodName]; d != nil && d.Done {
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

func (s *deletions) step(file string, o Occurrence, drop func(Kind)) {
	if volumeFailures[o.Kind] && !o.isUnmount() {
		return
	}
	d := s.find(&o.Subject)
	if d != nil && d.Done && o.startsDeletion() && o.Kind != KindSyncLoopRemove {
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
	d.follow(file, o)
	if d.settle() {
		s.done++
		s.prune()
	}
}

// reopen handles a line about a pod that seemed to be done: it was not, or the same static pod goes again.
func (s *deletions) reopen(d *deletion, o Occurrence) *deletion {
	s.done--
	d.Done = false
	if o.Kind == KindPodTeardown || o.Kind == KindSyncLoopDelete { // once more from the beginning
		*d = deletion{Deletion: Deletion{PodUID: d.PodUID, PodName: d.PodName}, order: d.order, started: o.Time}
		d.kills, d.mounts = map[string]bool{}, map[string]bool{}
	}
	return d
}

func (s *deletions) start(o Occurrence, drop func(Kind)) *deletion {
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
	s.all = slices.DeleteFunc(s.all, func(d *deletion) bool {
		if !d.Done || remove == 0 {
			return false
		}
		remove--
		s.done--
		if s.byUID[d.PodUID] == d {
			delete(s.byUID, d.PodUID)
		}
		if s.byName[d.PodName] == d {
			delete(s.byName, d.PodName)
		}
		return true
	})
}

// byContainer joins a line that names a container alone to the deletion that waits for it.
func (s *deletions) byContainer(file string, o Occurrence) {
	if o.Container == "" || (complaints[o.Kind] == "" && o.Kind != KindContainerExited) {
		return
	}
	for _, d := range s.all {
		if d.kills[o.Container] {
			d.follow(file, o)
			return
		}
	}
}

// restarted forgets what the kubelet that ended had in its hands.
func (s *deletions) restarted() {
	for _, d := range s.all {
		clear(d.kills)
		clear(d.mounts)
	}
}

// follow takes one line.
func (d *deletion) follow(file string, o Occurrence) {
	switch o.Kind {
	case KindSyncLoopDelete:
		d.deleted = true
	case KindSyncLoopRemove:
		d.gone = true
	case KindPodTeardown:
		d.teardown = o.Reason
	case KindPodSyncCancelled:
		d.cancelled = true
	case KindContainerKilling:
		d.kill(o.Container, o.Number)
	case KindPodTerminating:
		if o.Number > 0 {
			d.grace(o.Number)
		}
	case KindContainerExited:
		delete(d.kills, o.Container)
	case KindSyncLoopPLEG:
		if o.Reason == "ContainerDied" || o.Reason == "ContainerRemoved" {
			delete(d.kills, o.Container)
		}
	case KindPodContainersStopped, KindPodTerminatedSync:
		clear(d.kills)
	case KindUnmountStarted:
		if len(d.mounts) < maxKillsFollowed {
			d.mounts[o.UniqueName] = true
		}
	case KindUnmountDone:
		delete(d.mounts, o.UniqueName)
		if len(d.mounts) == 0 && d.Stage == stageVolumes {
			d.settleComplaints(stageVolumes)
		}
	}
	if stage := complaints[o.Kind]; stage != "" {
		d.complain(file, stage, o)
	}
	if stage := steps[o.Kind]; stage != "" {
		d.reach(stage, file, o)
	} else if stage := complaints[o.Kind]; stage != "" && stageRank(stage) > stageRank(d.Stage) && o.Kind != KindPreStopUnfinished {
		d.reach(stage, file, o)
	}
}

func (d *deletion) kill(container string, grace float64) {
	if len(d.kills) < maxKillsFollowed {
		d.kills[container] = true
	}
	d.grace(grace)
}

func (d *deletion) grace(seconds float64) {
	if seconds < 0 || seconds > 1e9 {
		return
	}
	n := int64(seconds)
	if d.GraceSeconds == nil || n > *d.GraceSeconds {
		d.GraceSeconds = &n
	}
}

// reach notes a stage. Stages are never left backwards: lines of two workers may cross.
func (d *deletion) reach(stage, file string, o Occurrence) {
	if stageRank(stage) <= stageRank(d.Stage) {
		return
	}
	d.Stage, d.since = stage, o.Time
	d.Steps = append(d.Steps, Step{Stage: stage, Time: o.Time, Quote: quote(file, o.Entry)})
	d.complaints = slices.DeleteFunc(d.complaints, func(c complaint) bool { return stageRank(c.stage) < stageRank(stage) })
}

func (d *deletion) settleComplaints(stage string) {
	d.complaints = slices.DeleteFunc(d.complaints, func(c complaint) bool { return c.stage == stage })
}

// complain keeps the last line of each kind.
func (d *deletion) complain(file, stage string, o Occurrence) {
	if stageRank(stage) < stageRank(d.Stage) && !(stage == stageContainers && len(d.kills) > 0) {
		return // of a stage that is over
	}
	if o.Kind == KindPodVolumesWaiting && o.Volume == "" {
		return // it says only that it begins to wait
	}
	c := complaint{kind: o.Kind, stage: stage, reason: o.Reason, code: o.Code, volume: o.Volume, time: o.Time, quote: quote(file, o.Entry)}
	for i := range d.complaints {
		if d.complaints[i].kind == o.Kind {
			d.complaints[i] = c
			return
		}
	}
	if len(d.complaints) < maxComplaints {
		d.complaints = append(d.complaints, c)
	}
}

// settle says whether the deletion has just ended. The object of the API server is removed by the kubelet when all else
// is done, so its removal ends a deletion; but a pod that was deleted by force, or a static one, is removed first.
func (d *deletion) settle() bool {
	if d.Done {
		return false
	}
	finished := stageRank(d.Stage) >= stageRank(stageAPI)
	switch {
	case d.Stage == stageRemoved:
	case d.gone && finished:
	case d.gone && d.deleted && len(d.kills) == 0 && len(d.mounts) == 0 && len(d.complaints) == 0:
	default:
		return false
	}
	d.Done, d.Stage = true, stageRemoved
	return true
}
