package deletion

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/mountuse"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// judgeVolumes: the containers have stopped, volumes are still mounted.
func (s *Pod) judgeVolumes() {
	if s.hungMount() {
		return
	}
	if e := s.unresolved(logs.KindUnmountBusy, logs.KindDeviceInUse); len(e) > 0 {
		s.failing = true
		volume := logview.VolumeEntity(s.p, e[0].Subject)
		s.verdict = fmt.Sprintf("volume %s %s", logview.VolumeLabel(e[0].Subject), cmp.Or(s.inUse(volume), "cannot be unmounted: target is busy"))
		s.detail = "The kubelet cannot unmount the volume: target is busy (EBUSY)."
		s.blame(volume)
		s.quote(e)
		return
	}
	if e := s.unresolved(logs.KindCSIDriverMissing, logs.KindCSIAborted, logs.KindCSIDeadline, logs.KindCSIUnavailable); len(e) > 0 {
		s.failing = true
		driver := "CSI driver " + logview.DriverOf(e[0].Subject)
		s.verdict = strings.Replace(logs.Words(e[0].Kind), "CSI driver", driver, 1)
		s.detail = fmt.Sprintf("%s does not unmount volume %s.", driver, logview.VolumeLabel(e[0].Subject))
		s.blame(logview.DriverEntity(logview.DriverOf(e[0].Subject)))
		s.quote(e)
		return
	}
	if e := s.events(logs.KindCSIVolDataMissing); len(e) > 0 { // no kubelet makes the file again
		s.failing = true
		s.verdict = "vol_data.json of its CSI volume cannot be loaded"
		s.detail = "Without vol_data.json the kubelet cannot unmount the volume: " + e[0].Reason + "."
		s.remedies = []forensics.Remedy{s.volData(e[0])}
		s.quote(e)
		return
	}
	if e := s.unresolved(logs.KindUnmountFailed, logs.KindDeviceUnmountFailed, logs.KindCSIFailed, logs.KindOperationFailed); len(e) > 0 {
		s.failing = logview.Count(e) >= logview.FewFailures
		s.verdict = fmt.Sprintf("volume %s cannot be unmounted: %s", logview.VolumeLabel(e[0].Subject), cmp.Or(e[0].Reason, e[0].Code))
		s.blame(logview.VolumeEntity(s.p, e[0].Subject))
		s.quote(e)
		return
	}
	s.judgeOperations()
}

// operationsOf are the volume operations of a pod.
func operationsOf(p *forensics.Pass, uid string) []logs.Operation {
	return forensics.Once(p, "operations by pod", func() map[string][]logs.Operation {
		by := map[string][]logs.Operation{}
		for _, o := range logview.Story(p).Operations {
			if o.PodUID != "" {
				by[o.PodUID] = append(by[o.PodUID], o)
			}
		}
		return by
	})[uid]
}

// judgeOperations: no unmount failed; one has not returned, or none was started.
func (s *Pod) judgeOperations() {
	tried := false
	for _, o := range operationsOf(s.p, s.uid) {
		if !strings.HasPrefix(o.Name, "Unmount") {
			continue
		}
		tried = true
		if !logview.Unfinished(s.p, o) {
			continue
		}
		s.failing = true
		s.verdict = fmt.Sprintf("%s of %s has not returned", o.Name, logview.OperationVolume(o))
		s.refs = append(s.refs, logview.Refs(o.Quotes...)...)
		switch driver := logview.DriverOf(o.Subject); {
		case driver != "":
			s.blame(logview.DriverEntity(driver))
		case forensics.Once(s.p, "operations are stuck", func() bool { return len(stall.StuckOperations(s.p)) > 0 }):
			s.blame(stall.VolumeManagerEntity)
		default:
			s.blame(logview.VolumeEntity(s.p, o.Subject))
		}
		return
	}
	left := s.unresolved(logs.KindPodVolumesLeft, logs.KindPodVolumesWaiting)
	s.quote(left)
	list := s.p.Model.PodMounts(s.uid)
	switch {
	case len(left) > 0 && len(list) > 0 && !tried:
		s.verdict = fmt.Sprintf("the kubelet does not unmount %s below its directory", text.Plural(len(list), "mount"))
		s.failing = true
		for _, m := range list {
			s.blame(forensics.MountEntity(m.ID))
		}
	case len(left) > 0:
		s.verdict = "its volumes have not been cleaned up"
	case !tried:
		s.verdict = "no unmount of its volumes was started"
		s.detail = "Its containers have stopped. Possible causes: the volume manager is blocked, or considers the volumes unmounted, or (1.28 and later) waits for the API server after a kubelet restart."
	}
	if forensics.Once(s.p, "the reconciler is blocked", func() bool { return len(stall.All(s.p, stall.ReconcilerFrame)) > 0 }) {
		s.blame(stall.VolumeManagerEntity)
	}
}

// inUse names the first process that uses a mount: "in use by postgres (pid 4711)"; "" where none is known. The kubelet comes last.
func (s *Pod) inUse(volume forensics.Entity) string {
	id, err := strconv.Atoi(volume.ID)
	if volume.Kind != forensics.KindMount || err != nil {
		return ""
	}
	list, _ := s.p.Model.Uses().Holders(id)
	pids := mountuse.PIDs(list)
	if k := s.p.Evidence.Kubelet; k != nil && len(pids) > 1 {
		pids = sorting.Delete(pids, func(pid int) bool { return pid == k.PID })
	}
	if len(pids) == 0 {
		return ""
	}
	words := "in use by " + findings.ProcessTitle(s.p, pids[0])
	if more := len(pids) - 1; more > 0 {
		words += " and " + text.Plural(more, "more process")
	}
	return words
}

// hungMount blames a mount below the pod's directory that is not responding.
func (s *Pod) hungMount() bool {
	for _, m := range s.p.Model.PodMounts(s.uid) {
		if h, ok := s.p.Model.Health(m.Device); ok && h.Status == mounts.StatusHung {
			s.failing = true
			s.verdict = fsfamily.Label(m.FSType, m.Source) + " is not responding"
			s.detail = fmt.Sprintf("Mount %d at %s is not responding and cannot be unmounted.", m.ID, m.MountPoint)
			s.blame(forensics.MountEntity(m.ID))
			return true
		}
	}
	podOf := func(w *stall.Waiter) string {
		uid, _ := forensics.PodOf(w.Thread.Path)
		return uid
	}
	for _, w := range stall.WaitersBy(s.p, "pod of the path", podOf)[s.uid] {
		if w.Seconds >= stall.HungAfter(s.p) {
			s.failing = true
			s.verdict = findings.ProcessTitle(s.p, w.Thread.PID) + " is blocked in one of its volumes"
			s.detail = fmt.Sprintf("Thread %d/%d waits in a volume of the pod.", w.Thread.PID, w.Thread.TID)
			s.blame(forensics.ThreadEntity(w.Thread))
			return true
		}
	}
	return false
}

func (s *Pod) volData(e logs.Event) forensics.Remedy {
	return forensics.Remedy{
		Action: remedy.ActionLook, Command: []string{"grep", "-F", "-e", cmp.Or(s.uid, s.d.PodName), "/proc/self/mountinfo"},
		Why:    "shows whether the volume is still mounted. If it is, unmount it. Then remove its empty directories with rmdir: " + e.Path,
		OnlyIf: "the pod has no containers", Risk: "none: read-only. rmdir fails on a directory that is not empty, which is safe",
	}
}
