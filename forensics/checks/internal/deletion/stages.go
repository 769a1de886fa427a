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
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// judgeRequested: the deletion was seen, and no container is killed yet.
func (s *Pod) judgeRequested() {
	stalled := forensics.Once(s.p, "the sync loop is stalled", func() bool {
		silent, skips, _ := logview.SyncLoop(s.p)
		list, alone := stall.BlockedHousekeeping(s.p)
		return silent != nil || skips != nil || stall.SyncLoopFailed(s.p) != nil || len(stall.StalledSyncLoop(s.p)) > 0 || len(list) > 0 || alone != nil
	})
	if stalled {
		s.verdict, s.failing = "the kubelet's sync loop is stalled", true
		s.blame(stall.SyncLoopEntity)
		return
	}
	if e := s.unresolved(logs.KindVolumesNotMounted, logs.KindSandboxCreateFailed, logs.KindPodSyncFailed, logs.KindImagePullFailed); len(e) > 0 {
		s.verdict, s.failing = "its worker is still starting it: "+cmp.Or(e[0].Reason, logs.Words(e[0].Kind)), logview.Count(e) >= logview.FewFailures
		s.detail = "The start must end before the pod worker processes the deletion."
		s.quote(e)
		return
	}
	s.verdict = "no container was killed yet"
	s.detail = "The kubelet received the deletion. The pod worker is busy with other work. Up to 1.21, a running sync must end first."
}

// judgeKilling: containers are being killed, and not all have stopped.
func (s *Pod) judgeKilling() {
	e := s.unresolved(logs.KindContainerStopFailed, logs.KindSandboxStopFailed, logs.KindPodKillFailed, logs.KindPodKillIncomplete,
		logs.KindShimFailed, logs.KindCNIDeleteFailed)
	s.quote(e)
	process, waits := s.unkillable()
	cni := sorting.Delete(slices.Clone(e), func(e logs.Event) bool { return e.Kind != logs.KindCNIDeleteFailed })
	down := forensics.Once(s.p, "the runtime in the log", func() *logview.RuntimeSilence { return logview.Runtime(s.p) })
	switch {
	case process != 0:
		s.failing = true
		s.verdict = findings.ProcessTitle(s.p, process) + " cannot be killed"
		s.detail = waits
		s.blame(findings.ProcessEntity(process))
	case len(e) > 0 && s.savedWaiter() != nil:
		t := s.savedWaiter()
		s.failing = true
		s.verdict = "the runtime cannot stop its containers: a process is blocked in the kernel"
		s.detail = fmt.Sprintf("Most likely process %d (%s) is theirs: it is the only one that was shown, and %s.", t.PID, t.Comm, forensics.DescribeWait(*t, forensics.WaitAtLeast{}))
		s.blame(stall.SavedSubject(*t))
	case down != nil && down.Current:
		s.failing = true
		s.verdict = "the container runtime is not responding"
		s.detail = "The kubelet cannot stop the containers of the pod."
		s.blame(s.p.Model.RuntimeEntity())
	case len(cni) > 0:
		s.failing = true
		s.verdict = "network plugin cannot tear down its sandbox: " + cni[0].Reason
	case len(e) > 0:
		s.failing = true
		s.verdict = "the runtime cannot stop its containers: " + cmp.Or(e[0].Reason, e[0].Code)
		s.detail = "Possible causes: a process in uninterruptible sleep, a hung shim, a frozen cgroup. Deleting the pod with --force does not free its volumes."
		s.remedies = []forensics.Remedy{{
			Action: remedy.ActionLook, Command: []string{"crictl", "ps", "-a"}, Why: "shows which container still runs", Risk: "none: read-only",
		}, {
			Action: remedy.ActionLook, Command: []string{"ps", "-eo", "pid,state,wchan:32,args"}, Why: "shows which process of the pod is blocked in the kernel (state D)",
			Risk: "none: read-only. ps reads command lines and can itself hang on a blocked process",
		}}
	default:
		s.verdict = "containers have not stopped"
	}
}

// unkillable is a process of the pod that cannot be killed, and what it waits for.
func (s *Pod) unkillable() (pid int, waits string) {
	podOf := func(w *stall.Waiter) string {
		process, _ := s.p.Model.Process(w.Thread.PID)
		return process.PodUID
	}
	for _, w := range stall.WaitersBy(s.p, "pod", podOf)[s.uid] {
		process, _ := s.p.Model.Process(w.Thread.PID)
		if w.Seconds >= stall.HungAfter(s.p) &&
			(w.Thread.Wait.Unkillable() || process.State == "Z" || w.Thread.Wait.Kind == procs.WaitFreezer) {
			return process.PID, fmt.Sprintf("Thread %d/%d (%s) %s.", w.Thread.PID, w.Thread.TID, w.Thread.Comm, forensics.DescribeWait(w.Thread, w.WaitAtLeast))
		}
	}
	return 0, ""
}

// savedWaiter is a thread that a saved text shows in a wait that no signal ends, if it shows such threads of one process alone, and the log
// one pod that cannot be killed: somebody has looked for it. One that cannot end says more than one that waits.
func (s *Pod) savedWaiter() *procs.Thread {
	var found *procs.Thread
	dying := slices.ContainsFunc(s.p.Evidence.Threads, stall.UnkillableByText)
	for i := range s.p.Evidence.Threads {
		t := &s.p.Evidence.Threads[i]
		switch {
		case dying && !stall.UnkillableByText(*t), t.Saved == "" || !dying && t.State != "" && t.State != "D":
		case found != nil && found.PID != t.PID:
			return nil
		case found == nil:
			found = t
		}
	}
	if found == nil || found.PID == 0 || slices.Contains([]string{"kubelet", "containerd", "dockerd", "crio", "umount", "df"}, found.Comm) {
		return nil
	}
	for _, e := range logview.Events(s.p, logs.KindPodKillFailed) {
		if uid := logview.UIDOf(s.p, e.Subject); uid != "" && uid != s.uid {
			return nil
		}
	}
	return found
}

// judgeCgroup: the volumes are removed, the cgroup is not.
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
		s.detail = fmt.Sprintf("Process %d (%s, state %s) is still in the cgroup.", list[0].PID, list[0].Comm, list[0].State)
		return
	}
	if bus := logview.Events(s.p, logs.KindDBusFailed); len(bus) > 0 && logview.Current(s.p, logview.Last(bus)) {
		s.quote(bus)
		s.detail = "systemd does not respond to the kubelet over D-Bus: " + bus[0].Reason + "."
		if init, ok := s.p.Model.Process(1); ok && init.Comm == "systemd" {
			s.blame(findings.ProcessEntity(1))
		}
	}
}

// judgeStatus: the node has cleaned up, but the last status or the deletion was not sent to the API server.
func (s *Pod) judgeStatus() {
	s.verdict, s.detail = "the API server has not received its last status", "The kubelet has cleaned up the pod, but has not reported that to the API server."
	if list := stall.All(s.p, "kubelet/status.(*manager).syncBatch", "kubelet/status.(*manager).syncPod"); len(list) > 0 {
		s.failing = true
		s.blame(forensics.Entity{Kind: forensics.KindSubsystem, ID: "status-manager"})
		return
	}
	e := s.unresolved(logs.KindPodStatusFailed, logs.KindPodDeleteFailed, logs.KindPodDeleteDelayed)
	if len(e) == 0 {
		e = sorting.Delete(logview.Events(s.p, logs.KindAPIUnreachable, logs.KindAPIUnauthorized, logs.KindCertExpired),
			func(e logs.Event) bool { return !logview.Current(s.p, logview.Last([]logs.Event{e})) })
	}
	if len(e) > 0 {
		s.failing = logview.Count(e) >= logview.FewFailures
		s.verdict += ": " + cmp.Or(e[0].Reason, logs.Words(e[0].Kind))
		s.quote(e)
	}
}
