package logs

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A Stage is how far the deletion of a pod has come: what is being done, or waited for, there.
type Stage string

// The stages of a deletion in their order.
const (
	StageRequested  Stage = "requested"  // the API server has asked for it, or the static file is gone
	StageKilling    Stage = "killing"    // its worker tears it down; no container has been told to end
	StageContainers Stage = "containers" // containers have been told to end
	StageVolumes    Stage = "volumes"    // they have; volumes are being unmounted
	StageCgroup     Stage = "cgroup"     // the cgroup is being removed
	StageStatus     Stage = "status"     // the last status is being sent
	StageAPI        Stage = "api"        // the node is done with it; the object is still there
	StageRemoved    Stage = "removed"
)

var deletionStages = []Stage{
	StageRequested, StageKilling, StageContainers, StageVolumes, StageCgroup, StageStatus, StageAPI, StageRemoved,
}

func stageRank(s Stage) int { return slices.Index(deletionStages, s) }

// steps are the messages with which a deletion enters a stage.
var steps = map[Kind]Stage{
	kindSyncLoopDelete:       StageRequested,
	kindSyncLoopRemove:       StageRequested, // of a static pod, or by force
	kindPodTeardown:          StageKilling,
	kindPodSyncCancelled:     StageKilling,
	kindPodTerminating:       StageKilling,
	kindContainerKilling:     StageContainers,
	kindPodContainersStopped: StageVolumes,
	kindPodTerminatedSync:    StageVolumes,
	KindPodVolumesWaiting:    StageVolumes,
	kindUnmountStarted:       StageVolumes,
	kindPodVolumesUnmounted:  StageVolumes, // the directories come next
	kindPodVolumePathsClean:  StageCgroup,
	kindPodCgroupRemoved:     StageStatus,
	kindPodStatusFinal:       StageAPI,
	kindPodRemovedFromAPI:    StageAPI,
	kindPodForgotten:         StageRemoved,
	kindOrphanDirRemoved:     StageRemoved,
}

// complaints are messages that repeat while a deletion is stuck, with its stage.
var complaints = map[Kind]Stage{
	KindPodVolumesLeft:      StageVolumes,
	KindPodVolumesWaiting:   StageVolumes,
	kindPodContainersLeft:   StageContainers,
	KindPodKillIncomplete:   StageContainers,
	KindPodKillFailed:       StageContainers,
	KindContainerStopFailed: StageContainers,
	KindSandboxStopFailed:   StageContainers,
	KindCNIDeleteFailed:     StageContainers,
	kindPreStopUnfinished:   StageContainers,
	KindPodCgroupLeft:       StageCgroup,
	KindCgroupDeleteFailed:  StageCgroup,
	KindPodStatusFailed:     StageStatus,
	KindPodDeleteFailed:     StageAPI,
	KindPodDeleteDelayed:    StageStatus,
	kindPodRestartBlocked:   StageKilling,
	KindEvictionFailed:      StageContainers,
	kindOrphanMounted:       StageVolumes,
	KindUnmountBusy:         StageVolumes,
	KindUnmountFailed:       StageVolumes,
	KindCSIDriverMissing:    StageVolumes,
	KindCSIAborted:          StageVolumes,
	KindCSIDeadline:         StageVolumes,
	KindCSIUnavailable:      StageVolumes,
	KindCSIFailed:           StageVolumes,
	KindCSIVolDataMissing:   StageVolumes,
}

// starts are the messages that only a terminating pod has. Containers are also killed to be restarted.
var starts = map[Kind]bool{
	kindSyncLoopDelete: true, kindSyncLoopRemove: true, kindPodTeardown: true, kindPodTerminating: true,
	kindPodContainersStopped: true, kindPodTerminatedSync: true, KindPodVolumesWaiting: true, kindUnmountStarted: true,
	KindPodVolumesLeft: true, kindPodContainersLeft: true, KindPodCgroupLeft: true, KindPodKillFailed: true,
	KindPodKillIncomplete: true,
}

// volumeFailures are complaints when it is an unmount that failed.
var volumeFailures = map[Kind]bool{
	KindUnmountBusy: true, KindUnmountFailed: true, KindCSIDriverMissing: true, KindCSIAborted: true,
	KindCSIDeadline: true, KindCSIUnavailable: true, KindCSIFailed: true, KindCSIVolDataMissing: true,
}

// startsDeletion says whether only a terminating pod has such a line.
func (o *occurrence) startsDeletion() bool {
	return starts[o.Kind] || volumeFailures[o.Kind] && o.isUnmount() && !o.isReconstruction()
}

// isReconstruction says that a kubelet, after its start, could not unmount what it found on the disk below the directory of a pod that
// it does not have (reconciler/reconstruct_common.go, cleanupMounts; up to 1.24 in reconciler.go). Nobody deletes such a pod.
func (o *occurrence) isReconstruction() bool {
	return strings.Contains(o.Entry.Message, "volumeHandler.UnmountVolumeHandler for UnmountVolume failed")
}

func (o *occurrence) isUnmount() bool { return operationOf(o.Entry.Message) == opUnmountVolume }

// deletion is the deletion of one pod.
type deletion struct {
	Deletion
	since, started time.Time
	// deleted says that the API server requested it, gone that its object or its static file no longer exists.
	deleted, gone bool
	// ending says that a line tells of the end of the pod, not only of an unmount.
	ending bool
	// unmounted and killed count what has ended well.
	unmounted, killed int
	// life is the kubelet, counted from the first, that wrote the last line about it.
	life int
	// kills are containers that were killed and have not stopped; mounts are volumes with an unmount in progress.
	kills, mounts map[string]bool
	complaints    []complaint
	cancelled     bool
	teardown      string
	order         int
}

type complaint struct {
	kind   Kind
	stage  Stage
	reason string
	code   string
	volume string
	time   time.Time
	quote  Quote
}

// follow takes one line.
func (d *deletion) follow(file string, o occurrence) {
	d.ending = d.ending || starts[o.Kind] && o.Kind != kindUnmountStarted || o.Kind == kindContainerKilling
	switch o.Kind {
	case kindSyncLoopDelete:
		d.deleted = true
	case kindSyncLoopRemove:
		d.gone = true
	case kindPodTeardown:
		d.teardown = o.Reason
	case kindPodSyncCancelled:
		d.cancelled = true
	case kindContainerKilling:
		d.kill(o.Container, o.Number)
	case kindPodTerminating:
		if o.Number > 0 {
			d.grace(o.Number)
		}
	case kindContainerExited:
		d.died(o.Container)
	case kindSyncLoopPLEG:
		if o.Reason == "ContainerDied" || o.Reason == "ContainerRemoved" {
			d.died(o.Container)
		}
	case kindPodContainersStopped, kindPodTerminatedSync:
		clear(d.kills)
	case kindUnmountStarted:
		if len(d.mounts) < maxKillsFollowed {
			d.mounts[o.UniqueName] = true
		}
	case KindUnmountDone:
		delete(d.mounts, o.UniqueName)
		d.unmounted++
		if len(d.mounts) == 0 && d.Stage == StageVolumes {
			d.settleComplaints(StageVolumes)
		}
	}
	if stage := complaints[o.Kind]; stage != "" {
		d.complain(file, stage, o)
	}
	if stage := steps[o.Kind]; stage != "" {
		d.reach(stage, file, o)
	} else if stage := complaints[o.Kind]; stage != "" && stageRank(stage) > stageRank(d.Stage) && o.Kind != kindPreStopUnfinished {
		d.reach(stage, file, o)
	}
}

func (d *deletion) kill(container string, grace float64) {
	if len(d.kills) < maxKillsFollowed {
		d.kills[container] = true
	}
	d.grace(grace)
}

func (d *deletion) died(container string) {
	if d.kills[container] {
		delete(d.kills, container)
		d.killed++
	}
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
func (d *deletion) reach(stage Stage, file string, o occurrence) {
	if stageRank(stage) <= stageRank(d.Stage) {
		return
	}
	d.Stage, d.since = stage, o.Time
	d.Steps = append(d.Steps, Step{Stage: stage, Time: o.Time, Quote: quote(file, o.Entry)})
	d.complaints = sorting.Delete(d.complaints, func(c complaint) bool { return stageRank(c.stage) < stageRank(stage) })
}

func (d *deletion) settleComplaints(stage Stage) {
	d.complaints = sorting.Delete(d.complaints, func(c complaint) bool { return c.stage == stage })
}

// complain keeps the last line of each kind.
func (d *deletion) complain(file string, stage Stage, o occurrence) {
	over := stageRank(stage) < stageRank(d.Stage) && (stage != StageContainers || len(d.kills) == 0)
	if over {
		return
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

// wanted says whether the pod is to go. Pods that have run to their end, or were evicted, are torn down too, but their
// objects stay.
func (d *deletion) wanted() bool {
	return d.deleted || d.gone || d.teardown != "" && d.teardown != teardownTerminal && d.teardown != teardownEvicted
}

// idle says that all that began has ended, and nothing complains.
func (d *deletion) idle() bool {
	return len(d.kills) == 0 && len(d.mounts) == 0 && len(d.complaints) == 0
}

// settle says whether the deletion has just ended. The object of the API server is removed by the kubelet when all else
// is done, so its removal ends a deletion; but a pod that was deleted by force, or a static one, is removed first.
func (d *deletion) settle() bool {
	if d.Done {
		return false
	}
	idle := d.idle()
	switch rank := stageRank(d.Stage); {
	case d.Stage == StageRemoved,
		d.gone && rank >= stageRank(StageAPI),
		d.gone && d.deleted && idle:
		d.Stage = StageRemoved
	case !d.wanted() && idle && (rank >= stageRank(StageCgroup) || d.Stage == StageVolumes && d.unmounted > 0):
	default:
		return false
	}
	d.Done = true
	return true
}

// shown says whether the log shows that the pod is or was being deleted, or is stuck.
func (d *deletion) shown() bool { return !d.Done || d.Stage == StageRemoved }
