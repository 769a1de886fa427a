package deletion

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// judgeVolumes: the containers have stopped, volumes are left.
func (s *Pod) judgeVolumes() {
	if s.hungMount() {
		return
	}
	if e := s.unresolved(logs.KindUnmountBusy, logs.KindDeviceInUse); len(e) > 0 {
		s.failing = true
		s.verdict = fmt.Sprintf("volume %s cannot be unmounted, its target is busy", cmp.Or(e[0].Volume, e[0].UniqueName))
		s.blame(logview.VolumeEntity(s.p, e[0].Subject))
		s.quote(e)
		return
	}
	if e := s.unresolved(logs.KindCSIDriverMissing, logs.KindCSIAborted, logs.KindCSIDeadline, logs.KindCSIUnavailable); len(e) > 0 {
		s.failing = true
		s.verdict = fmt.Sprintf("CSI driver %s does not unmount volume %s: %s", logview.DriverOf(e[0].Subject), cmp.Or(e[0].Volume, e[0].UniqueName), logs.Words(e[0].Kind))
		s.blame(logview.DriverEntity(logview.DriverOf(e[0].Subject)))
		s.quote(e)
		return
	}
	if e := s.unresolved(logs.KindCSIVolDataMissing); len(e) > 0 {
		s.failing = true
		s.verdict = "its CSI volume has lost vol_data.json, without which the kubelet cannot unmount it: " + e[0].Reason
		s.remedies = []forensics.Remedy{s.volData(e[0])}
		s.quote(e)
		return
	}
	if e := s.unresolved(logs.KindUnmountFailed, logs.KindDeviceUnmountFailed, logs.KindCSIFailed, logs.KindOperationFailed); len(e) > 0 {
		s.failing = logview.Count(e) >= logview.FewFailures
		s.verdict = fmt.Sprintf("volume %s cannot be unmounted: %s", cmp.Or(e[0].Volume, e[0].UniqueName), cmp.Or(e[0].Reason, e[0].Code))
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

// judgeOperations: nothing was refused; an unmount that does not come back, or none that was tried.
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
		s.verdict = fmt.Sprintf("%s of %s was started and has not come back", o.Name, logview.OperationVolume(o))
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
		s.verdict = fmt.Sprintf("%s below its directory, which the kubelet does not unmount", text.Plural(len(list), "mount"))
		s.failing = true
		for _, m := range list {
			s.blame(forensics.MountEntity(m.ID))
		}
	case len(left) > 0:
		s.verdict = "its volumes have not been cleaned up"
	case !tried:
		s.verdict = "its containers have stopped, and no unmount of its volumes was started"
		s.detail = "The volume manager stands, takes the volumes for unmounted, or (1.28 and later) waits for the API server after a restart of the kubelet."
	}
	if forensics.Once(s.p, "the reconciler stands", func() bool { return len(stall.All(s.p, stall.ReconcilerFrame)) > 0 }) {
		s.blame(stall.VolumeManagerEntity)
	}
}

// hungMount blames a mount below the pod's directory that does not answer.
func (s *Pod) hungMount() bool {
	for _, m := range s.p.Model.PodMounts(s.uid) {
		if h, ok := s.p.Model.Health(m.Device); ok && h.Status == mounts.StatusHung {
			s.failing = true
			s.verdict = fmt.Sprintf("mount %d at %s does not answer, so that it cannot be unmounted", m.ID, m.MountPoint)
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
			s.verdict = fmt.Sprintf("thread %d/%d waits in a volume of it", w.Thread.PID, w.Thread.TID)
			s.blame(forensics.ThreadEntity(w.Thread))
			return true
		}
	}
	return false
}

func (s *Pod) volData(e logs.Event) forensics.Remedy {
	return forensics.Remedy{
		Action: remedy.ActionLook, Command: []string{"grep", "-F", "-e", cmp.Or(s.uid, s.d.PodName), "/proc/self/mountinfo"},
		Why:    "shows whether the volume is still mounted. If so unmount it, then remove its empty directories with rmdir: " + e.Path,
		OnlyIf: "the pod's containers are gone", Risk: "none: it reads. rmdir refuses what is not empty, which is the safe answer",
	}
}
