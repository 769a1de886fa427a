package deletion

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/stall"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// judgeRequested: the deletion was seen, and no container is killed yet.
func (s *Pod) judgeRequested() {
	stalled := forensics.Once(s.p, "the sync loop does not come round", func() bool {
		silent, skips, _ := logview.SyncLoop(s.p)
		list, alone := stall.BlockedHousekeeping(s.p)
		return silent != nil || skips != nil || stall.SyncLoopFailed(s.p) != nil || len(stall.StalledSyncLoop(s.p)) > 0 || len(list) > 0 || alone != nil
	})
	if stalled {
		s.verdict, s.failing = "the kubelet's sync loop does not come round", true
		s.blame(stall.SyncLoopEntity)
		return
	}
	if e := s.unresolved(logs.KindVolumesNotMounted, logs.KindSandboxCreateFailed, logs.KindPodSyncFailed, logs.KindImagePullFailed); len(e) > 0 {
		s.verdict, s.failing = "its worker is still busy with starting it, which must end first: "+cmp.Or(e[0].Reason, logs.Words(e[0].Kind)), logview.Count(e) >= logview.FewFailures
		s.quote(e)
		return
	}
	s.verdict = "no container is killed, although the deletion was seen: its worker is busy with something else, up to 1.21 with a sync that must end first"
}

// judgeKilling: containers have been told to end, and have not all.
func (s *Pod) judgeKilling() {
	e := s.unresolved(logs.KindContainerStopFailed, logs.KindSandboxStopFailed, logs.KindPodKillFailed, logs.KindPodKillIncomplete,
		logs.KindShimFailed, logs.KindCNIDeleteFailed)
	s.quote(e)
	process, waits := s.unkillable()
	cni := slices.DeleteFunc(slices.Clone(e), func(e logs.Event) bool { return e.Kind != logs.KindCNIDeleteFailed })
	down := forensics.Once(s.p, "the runtime in the log", func() *logview.RuntimeSilence { return logview.Runtime(s.p) })
	switch {
	case process != 0:
		s.failing = true
		s.verdict = fmt.Sprintf("its process %d cannot be killed: %s", process, waits)
		s.blame(findings.ProcessEntity(process))
	case down != nil && down.Current:
		s.failing = true
		s.verdict = "the container runtime does not answer, so that its containers are not stopped"
		s.blame(s.p.Model.RuntimeEntity())
	case len(cni) > 0:
		s.failing = true
		s.verdict = "its sandbox cannot be removed, since the network plugin fails: " + cni[0].Reason
	case len(e) > 0:
		s.failing = true
		s.verdict = "the runtime cannot stop its containers: " + cmp.Or(e[0].Reason, e[0].Code)
		s.detail = "A process in the kernel that no signal reaches, a hung shim or a frozen cgroup does that. Deleting the pod with --force does not free its volumes."
		s.remedies = []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"crictl", "ps", "-a"}, Why: "shows which container is left", Risk: "none: it reads",
		}, {
			Action: remedy.ActionLook, Command: []string{"ps", "-eo", "pid,state,wchan:32,args"}, Why: "shows which of its processes waits in the kernel: those in state D",
			Risk: "none: it reads; ps reads command lines and can itself stop at a blocked process",
		}}
	default:
		s.verdict = "its containers have not stopped"
	}
}

// unkillable is a process of the pod that cannot go, and what it waits for.
func (s *Pod) unkillable() (pid int, waits string) {
	podOf := func(w *stall.Waiter) string {
		process, _ := s.p.Model.Process(w.Thread.PID)
		return process.PodUID
	}
	for _, w := range stall.WaitersBy(s.p, "pod", podOf)[s.uid] {
		process, _ := s.p.Model.Process(w.Thread.PID)
		if w.Seconds >= stall.HungAfter(s.p) &&
			(w.Thread.Wait.Unkillable() || process.State == "Z" || w.Thread.Wait.Kind == procs.WaitFreezer) {
			return process.PID, "a thread of it " + forensics.DescribeWait(w.Thread, w.WaitAtLeast)
		}
	}
	return 0, ""
}

// judgeCgroup: the volumes are gone, the cgroup is not.
func (s *Pod) judgeCgroup() {
	e := s.unresolved(logs.KindPodCgroupLeft, logs.KindCgroupDeleteFailed)
	s.quote(e)
	s.verdict, s.failing = "its cgroup cannot be removed", logview.Count(e) >= logview.FewFailures
	if len(e) > 0 {
		s.verdict += ": " + cmp.Or(e[0].Reason, e[0].Code)
	}
	if list := s.p.Model.ProcessesOf(s.uid); len(list) > 0 {
		s.failing = true
		s.blame(findings.ProcessEntity(list[0].PID))
		s.detail = fmt.Sprintf("Process %d (%s, state %s) still is in it.", list[0].PID, list[0].Comm, list[0].State)
		return
	}
	if bus := logview.Events(s.p, logs.KindDBusFailed); len(bus) > 0 && logview.Current(s.p, logview.Last(bus)) {
		s.quote(bus)
		s.detail = "systemd does not answer the kubelet over D-Bus: " + bus[0].Reason + "."
		if init, ok := s.p.Model.Process(1); ok && init.Comm == "systemd" {
			s.blame(findings.ProcessEntity(1))
		}
	}
}

// judgeStatus: the node has done its part, but the last status or the deletion was not sent.
func (s *Pod) judgeStatus() {
	s.verdict = "the kubelet has done with it, but has not told the API server"
	if list := stall.All(s.p, "kubelet/status.(*manager).syncBatch", "kubelet/status.(*manager).syncPod"); len(list) > 0 {
		s.failing = true
		s.blame(forensics.Entity{Kind: forensics.KindSubsystem, ID: "status-manager"})
		return
	}
	e := s.unresolved(logs.KindPodStatusFailed, logs.KindPodDeleteFailed, logs.KindPodDeleteDelayed)
	if len(e) == 0 {
		e = slices.DeleteFunc(logview.Events(s.p, logs.KindAPIUnreachable, logs.KindAPIUnauthorized, logs.KindCertExpired),
			func(e logs.Event) bool { return !logview.Current(s.p, logview.Last([]logs.Event{e})) })
	}
	if len(e) > 0 {
		s.failing = logview.Count(e) >= logview.FewFailures
		s.verdict += ": " + cmp.Or(e[0].Reason, logs.Words(e[0].Kind))
		s.quote(e)
	}
}
