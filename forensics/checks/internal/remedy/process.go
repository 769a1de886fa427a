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

// StopHolder is the first step to free a mount: it stops a process that uses it.
func StopHolder(p *forensics.Pass, pid int) forensics.Remedy {
	r := StopProcess(p, pid, "it is in use by "+findings.ProcessName(p, pid)+" until that process ends")
	switch process, _ := p.Model.Process(pid); {
	case IsExamination(process) && p.Evidence.Collected.Sub(process.Started) < runTakes:
		r = Tell(r, ActionWait, fmt.Sprintf("Wait until process %d ends by itself", pid))
		r.Why = "it is another run of nodeforensics that started less than a minute before this one and may still be running"
		r.OnlyIf, r.Risk = "", "none"
	case IsExamination(process) && isProcess(pid):
		r = Tell(r, ActionWait, fmt.Sprintf("Leave process %d alone, or end it with kill -9 %[1]d", pid))
		r.Why = "it is an earlier run of nodeforensics that is still blocked on this mount; it does nothing else"
		r.OnlyIf = "the other steps were taken first: it ends by itself when the mount responds, is aborted or is unmounted by force"
		r.Risk = "none"
	case r.Action == ActionStop:
		r.Risk += "; a process that is blocked in the kernel on this mount ends only after that wait"
	}
	return r
}

// StopProcess is how to end a process, or to close its open files. It kills no process that the node or a pod needs. If its action is
// to stop the process, its command is kill(1) with the number of the process.
func StopProcess(p *forensics.Pass, pid int, why string) forensics.Remedy {
	r := Signal(forensics.Remedy{
		Action: ActionStop, Why: why, OnlyIf: SameProcess(p, pid) + ", and its owner agrees", Risk: "its work is interrupted",
	}, pid)
	process, known := p.Model.Process(pid)
	switch {
	case !known && isProcess(pid):
		r = Run(r, ActionLook, "ps", "-o", "pid,lstart,cgroup,comm", "-p", strconv.Itoa(pid))
		r.OnlyIf = ""
		r.Why, r.Risk = "identifies the process: it started after the processes were read. "+findings.Capital(why), "none: read-only"
	case process.Kernel || pid == 1:
		r = Tell(r, ActionLook, "Find out why "+ProcessWord(p, pid)+" uses it")
		r.OnlyIf, r.Risk = "", "none; the process itself cannot be stopped"
	case process.PodUID != "" && !podEnding(p, process.PodUID):
		r = Tell(r, ActionDeletePod, "Delete the pod "+podWord(p, process.PodUID)+" (kubectl delete pod), or restart its container")
		r.OnlyIf = "the pod tolerates the interruption, and is not the one that needs this volume"
	case supervisesContainer(process):
		r = Tell(r, ActionDeletePod, fmt.Sprintf("Delete the pod of the container that process %d (%s) supervises: its cgroup or crictl ps names the pod", pid, shellword.Quote(process.Comm)))
		r.OnlyIf = "the pod tolerates the interruption"
		r.Risk = "killing the process itself leaves a container without supervision, or ends it"
	case IsDaemon(process):
		r = restart(r, process)
		r.Risk = "restarting the kubelet or containerd leaves containers running; dockerd stops them unless live-restore is set; state that they keep only in memory is lost"
	}
	return r
}

// SameProcess is the condition that processes are those that were seen, and not later ones with the same numbers.
func SameProcess(p *forensics.Pass, pids ...int) string {
	text, ids, starts := "it is still the same process", []string{}, []string{}
	if len(pids) > 1 {
		text = "they are still the same processes"
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

// podEnding says whether a pod is orphaned or terminating: deleting it stops none of its remaining processes.
func podEnding(p *forensics.Pass, uid string) bool {
	state, _ := p.Model.PodState(uid)
	return state == forensics.PodOrphaned || state == forensics.PodTerminating
}

// runTakes is how long an examination takes at most by default (--timeout).
const runTakes = time.Minute

// IsExamination says whether a process was left behind by an earlier run of this program: only the child that collects can be, and it
// has that name. A process of that name in a pod is treated like any other of the pod.
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

// supervisesContainer says whether a runtime leaves a process running when it is restarted, one for each container or
// pod: a shim of containerd or Docker, or the monitor of CRI-O. In the cgroup of a pod it ends with the pod.
func supervisesContainer(process procs.Process) bool {
	return cri.IsShim(process.Comm) && process.PodUID == "" && process.OfNode().Status != procs.Impostor
}

// restart is to have systemd restart a service process. Its unit is not derived from its name, because a process can choose that.
func restart(r forensics.Remedy, process procs.Process) forensics.Remedy {
	if unit := SystemUnit(process); unit != "" {
		return Run(r, ActionRestart, "systemctl", "restart", unit)
	}
	return Tell(r, ActionRestart, fmt.Sprintf("Restart the unit of process %d (%s): systemctl status %d names it", process.PID, shellword.Quote(process.Comm), process.PID))
}

// UnreceivedDescriptors is the command that names the unix sockets in whose queues descriptors are (scm_fds, Linux 5.8).
func UnreceivedDescriptors() []string {
	return []string{"sh", "-c", `grep -s "scm_fds:.*[1-9]" /proc/[0-9]*/fdinfo/*`}
}
