package remedy

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// StopHolder is the first step to free a mount.
func StopHolder(p *forensics.Pass, pid int) forensics.Remedy {
	r := StopProcess(p, pid, findings.ProcessName(p, pid)+" holds it; when it has ended, its hold is gone")
	switch process, _ := p.Model.Process(pid); {
	case IsExamination(process) && p.Evidence.Collected.Sub(process.Started) < runTakes:
		r = Tell(r, ActionWait, fmt.Sprintf("Stop nothing: let process %d end by itself", pid))
		r.Why = "it is another run of nodeforensics, begun less than a minute before this one, and may be under way"
		r.OnlyIf, r.Risk = "", "none"
	case IsExamination(process) && isProcess(pid):
		r = Tell(r, ActionWait, fmt.Sprintf("Stop nothing: leave it, or kill -9 %d", pid))
		r.Why = "it is an earlier run of nodeforensics that never came back from this mount; it does nothing any more"
		r.OnlyIf = "the other steps were taken first: it ends by itself when the mount answers, is aborted or forced off"
		r.Risk = "none"
	case r.Action == ActionStop:
		r.Risk += "; one that waits in the kernel for this very mount does not end before that wait does"
	}
	return r
}

// StopProcess is how to end a process, or to have what it has open closed. It kills none that the node or a pod cannot do
// without: where its action is to stop it, its command is kill(1) with the number of the process.
func StopProcess(p *forensics.Pass, pid int, why string) forensics.Remedy {
	r := Signal(forensics.Remedy{
		Action: ActionStop, Why: why, OnlyIf: SameProcess(p, pid) + ", and its owner agrees", Risk: "what it does is interrupted",
	}, pid)
	process, known := p.Model.Process(pid)
	switch {
	case !known && isProcess(pid):
		r = Run(r, ActionLook, "ps", "-o", "pid,lstart,cgroup,comm", "-p", strconv.Itoa(pid))
		r.OnlyIf = ""
		r.Why, r.Risk = "says what it is, which was not seen: it came when the processes had been read. "+findings.Capital(why), "none: it reads"
	case process.Kernel || pid == 1:
		r = Tell(r, ActionLook, "Find out what "+ProcessWord(p, pid)+" does with it")
		r.OnlyIf, r.Risk = "", "none; the process itself cannot be stopped"
	case process.PodUID != "" && !podEnding(p, process.PodUID):
		r = Tell(r, ActionDeletePod, "Delete the pod "+podWord(p, process.PodUID)+" (kubectl delete pod), or have its container restarted")
		r.OnlyIf = "the pod can do without it, and is not the one that needs this volume"
	case looksAfterContainer(process):
		r = Tell(r, ActionDeletePod, fmt.Sprintf("Delete the pod whose container process %d (%s) looks after: its cgroup or crictl ps names it", pid, shellword.Quote(process.Comm)))
		r.OnlyIf = "the pod can do without it"
		r.Risk = "killing the process itself leaves a container that nobody looks after, or ends it"
	case IsDaemon(process):
		r = restart(r, process)
		r.Risk = "restarting the kubelet or containerd leaves containers running; dockerd stops them unless live-restore is set; what is known only in their memory is lost"
	}
	return r
}

// SameProcess is the condition that processes are those that were seen, and not others that have got their numbers.
func SameProcess(p *forensics.Pass, pids ...int) string {
	text, ids, starts := "it is still that process", []string{}, []string{}
	if len(pids) > 1 {
		text = "they are still those processes"
	}
	for _, pid := range pids {
		ids = append(ids, strconv.Itoa(pid))
		if process, ok := p.Model.Process(pid); ok && !process.Started.IsZero() {
			starts = append(starts, process.Started.UTC().Format("2006-01-02 15:04:05"))
		}
	}
	text += " (TZ=UTC ps -o pid,lstart,comm -p " + strings.Join(ids, ",")
	if len(starts) == len(pids) {
		text += ": started " + strings.Join(slices.Compact(starts), ", ")
	}
	return text + ")"
}

// podEnding says whether a pod is gone or going: its processes are what it has left, and to delete it stops none of them.
func podEnding(p *forensics.Pass, uid string) bool {
	state, _ := p.Model.PodState(uid)
	return state == forensics.PodOrphaned || state == forensics.PodTerminating
}

// runTakes is how long an examination takes at most, unless it was told otherwise (--timeout).
const runTakes = time.Minute

// IsExamination says whether a process was left behind by an earlier run of this program: the child that collects has
// that name, and is all that may be left. What calls itself so in a pod is dealt with like anything else there.
func IsExamination(process procs.Process) bool {
	return process.PodUID == "" && (process.Comm == "nodeforensics" ||
		len(process.Command) > 1 && path.Base(process.Command[0]) == "nodeforensics" && process.Command[1] == "__collect")
}

// IsDaemon says whether a process is one by which the node runs pods. One in a container serves another node.
func IsDaemon(process procs.Process) bool {
	_, known := cri.OfProcess(process.Comm)
	if !known {
		_, known = kubelet.IsCandidate(process.Comm, process.Command)
	}
	return known && process.PodUID == "" && process.ContainerID == "" && process.OfNode().Status != procs.Impostor
}

// looksAfterContainer says whether a process is one that a runtime leaves running when it is restarted, one for each container or
// pod: a shim of containerd or Docker, or the monitor of CRI-O. In the cgroup of a pod it goes with that.
func looksAfterContainer(process procs.Process) bool {
	return cri.IsShim(process.Comm) && process.PodUID == "" && process.OfNode().Status != procs.Impostor
}

// restart is to have systemd restart a service process. Its unit is not told from its name, which it can choose.
func restart(r forensics.Remedy, process procs.Process) forensics.Remedy {
	if unit := SystemUnit(process); unit != "" {
		return Run(r, ActionRestart, "systemctl", "restart", unit)
	}
	return Tell(r, ActionRestart, fmt.Sprintf("Restart process %d (%s) by its unit, which systemctl status %d names", process.PID, shellword.Quote(process.Comm), process.PID))
}

// UnreceivedDescriptors is the command that names the unix sockets in whose queues descriptors are (scm_fds, Linux 5.8).
func UnreceivedDescriptors() []string {
	return []string{"sh", "-c", `grep -s "scm_fds:.*[1-9]" /proc/[0-9]*/fdinfo/*`}
}
