package checks

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// judgeVolumes: the containers have stopped, volumes are left.
func (s *stuckPod) judgeVolumes() {
	if s.hungMount() {
		return
	}
	if e := s.standing(logs.KindUnmountBusy, logs.KindDeviceInUse); len(e) > 0 {
		s.failing = true
		s.verdict = fmt.Sprintf("volume %s cannot be unmounted, its target is busy", cmp.Or(e[0].Volume, e[0].UniqueName))
		s.blame(volumeOf(s.p, e[0].Subject))
		s.quote(e)
		return
	}
	if e := s.standing(logs.KindCSIDriverMissing, logs.KindCSIAborted, logs.KindCSIDeadline, logs.KindCSIUnavailable); len(e) > 0 {
		s.failing = true
		s.verdict = fmt.Sprintf("CSI driver %s does not unmount volume %s: %s", driverOf(e[0].Subject), cmp.Or(e[0].Volume, e[0].UniqueName), logs.Words(e[0].Kind))
		s.blame(driverEntity(driverOf(e[0].Subject)))
		s.quote(e)
		return
	}
	if e := s.standing(logs.KindCSIVolDataMissing); len(e) > 0 {
		s.failing = true
		s.verdict = "its CSI volume has lost vol_data.json, without which the kubelet cannot unmount it: " + e[0].Reason
		s.remedies = []forensics.Remedy{s.volData(e[0])}
		s.quote(e)
		return
	}
	if e := s.standing(logs.KindUnmountFailed, logs.KindDeviceUnmountFailed, logs.KindCSIFailed, logs.KindOperationFailed); len(e) > 0 {
		s.failing = said(e) >= fewFailures
		s.verdict = fmt.Sprintf("volume %s cannot be unmounted: %s", cmp.Or(e[0].Volume, e[0].UniqueName), cmp.Or(e[0].Reason, e[0].Code))
		s.blame(volumeOf(s.p, e[0].Subject))
		s.quote(e)
		return
	}
	s.judgeOperations()
}

// operationsOf are the volume operations of a pod.
func operationsOf(p *forensics.Pass, uid string) []logs.Operation {
	return forensics.Once(p, "operations by pod", func() map[string][]logs.Operation {
		by := map[string][]logs.Operation{}
		for _, o := range story(p).Operations {
			if o.PodUID != "" {
				by[o.PodUID] = append(by[o.PodUID], o)
			}
		}
		return by
	})[uid]
}

// judgeOperations: nothing was refused; an unmount that does not come back, or none that was tried.
func (s *stuckPod) judgeOperations() {
	tried := false
	for _, o := range operationsOf(s.p, s.uid) {
		if !strings.HasPrefix(o.Name, "Unmount") {
			continue
		}
		tried = true
		if !unfinished(s.p, o) {
			continue
		}
		s.failing = true
		s.verdict = fmt.Sprintf("%s of %s was started and has not come back", o.Name, operationVolume(o))
		s.refs = append(s.refs, quotes(o.Quotes...)...)
		switch driver := driverOf(o.Subject); {
		case driver != "":
			s.blame(driverEntity(driver))
		case forensics.Once(s.p, "operations are stuck", func() bool { return len(stuckOperations(s.p)) > 0 }):
			s.blame(volumeManagerEntity)
		default:
			s.blame(volumeOf(s.p, o.Subject))
		}
		return
	}
	left := s.standing(logs.KindPodVolumesLeft, logs.KindPodVolumesWaiting)
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
	if forensics.Once(s.p, "the reconciler stands", func() bool { return len(allStanding(s.p, reconcilerFrame)) > 0 }) {
		s.blame(volumeManagerEntity)
	}
}

// hungMount blames a mount below the pod's directory that does not answer.
func (s *stuckPod) hungMount() bool {
	for _, m := range s.p.Model.PodMounts(s.uid) {
		if h, ok := s.p.Model.Health(m.Device); ok && h.Status == mounts.StatusHung {
			s.failing = true
			s.verdict = fmt.Sprintf("mount %d at %s does not answer, so that it cannot be unmounted", m.ID, m.MountPoint)
			s.blame(forensics.MountEntity(m.ID))
			return true
		}
	}
	podOf := func(w *waiter) string {
		uid, _ := s.p.Model.PodOf(w.thread.Path)
		return uid
	}
	for _, w := range waitersBy(s.p, "pod of the path", podOf)[s.uid] {
		if w.seconds >= hungAfter(s.p) {
			s.failing = true
			s.verdict = fmt.Sprintf("thread %d/%d waits in a volume of it", w.thread.PID, w.thread.TID)
			s.blame(forensics.ThreadEntity(w.thread))
			return true
		}
	}
	return false
}

func (s *stuckPod) volData(e logs.Event) forensics.Remedy {
	return forensics.Remedy{
		Command:      "grep -F -e " + quote(cmp.Or(s.uid, s.d.PodName)) + " /proc/self/mountinfo",
		Why:          "shows whether the volume is still mounted. If so unmount it, then remove its empty directories with rmdir: " + e.Path,
		Precondition: "the pod's containers are gone", Risk: "none: it reads. rmdir refuses what is not empty, which is the safe answer",
	}
}
