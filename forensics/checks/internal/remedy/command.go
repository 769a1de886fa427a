// Package remedy makes the steps of findings: safe words of commands, and what to do about processes, mounts, servers, disks and the kubelet.
package remedy

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// A command of a report is pasted into a root shell on the host, and every string of the evidence may be forged by a pod or by the
// writer of the file. So a command runs only programs of the host, on the host: programs of other mount namespaces belong to others.
// A string of the node is one argument, never an option and never part of a script for another shell (sh -c). It must match the grammar
// of its kind; otherwise the step has an instruction instead of a command. In an instruction it is quoted, so that pasting does no harm.

// The grammar of names: RFC 1123 subdomains for pods, claims and nodes, labels for namespaces (apimachinery,
// pkg/util/validation), UIDs as the kubelet has them, and units of systemd (systemd.unit(5)).
var (
	objectName = pattern.New(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	labelName  = pattern.New(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	unitName   = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9:_.@-]*$`)
	mapName    = pattern.New(`^[A-Za-z0-9#+.:=@_][A-Za-z0-9#+.:=@_-]*$`) // device mapper, and disks
)

// IsObjectName says whether a name is one of a pod, claim or node.
func IsObjectName(s string) bool { return len(s) <= 253 && objectName.MatchString(s) }

// IsLabelName says whether a name is one of a namespace.
func IsLabelName(s string) bool { return labelName.MatchString(s) }

// IsUnitName says whether a name is one of a unit of systemd.
func IsUnitName(s string) bool { return unitName.MatchString(s) }

// IsPath says whether a name is an absolute path as the kernel has them. Such a path is no option.
func IsPath(s string) bool {
	const most = 4096 // PATH_MAX
	return strings.HasPrefix(s, "/") && path.Clean(s) == s && len(s) < most && !strings.ContainsRune(s, 0)
}

// OnPath is a step whose command has a path as its last argument, or else an instruction.
func OnPath(r forensics.Remedy, name, otherwise string, command ...string) forensics.Remedy {
	if IsPath(name) {
		return Run(r, r.Action, append(command, name)...)
	}
	return Tell(r, r.Action, otherwise+" "+shellword.Quote(name))
}

// isProcess says whether a number is that of a process: 0 and those below mean groups of processes or all to kill(1).
func isProcess(pid int) bool { return pid > 1 }

// Signal is a step that sends a signal to a process ("-CONT"; SIGTERM if there is none), or asks to identify the process.
func Signal(r forensics.Remedy, pid int, signal ...string) forensics.Remedy {
	if !isProcess(pid) {
		return Tell(r, ActionLook, fmt.Sprintf("Identify the process: no signal may be sent to pid %d", pid))
	}
	return Run(r, r.Action, append(append([]string{"kill"}, signal...), strconv.Itoa(pid))...)
}

// podWord names a pod in a sentence: by its name only if the source of the name can be trusted.
func podWord(p *forensics.Pass, uid string) string {
	namespace, name := p.Model.PodName(uid)
	switch {
	case uid == namespace+"/"+name && IsObjectName(name) && IsLabelName(namespace): // its UID is not known
		return uid
	case !poduid.Valid(uid):
		return "with the UID " + shellword.Quote(uid)
	case p.Model.PodNameKnown(uid) && IsObjectName(name) && IsLabelName(namespace):
		return fmt.Sprintf("%s/%s (%s)", namespace, name, uid)
	}
	return "with the UID " + uid
}

// ProcessWord names a process in a sentence: nothing of it is special to a shell.
func ProcessWord(p *forensics.Pass, pid int) string {
	process, ok := p.Model.Process(pid)
	if !ok {
		return fmt.Sprintf("process %d", pid)
	}
	text := fmt.Sprintf("process %d (%s)", pid, shellword.Quote(process.Comm))
	if process.PodUID != "" {
		text += " of pod " + podWord(p, process.PodUID)
	}
	return text
}

// SystemUnit is the service of systemd that a process belongs to, by its cgroup, which no process chooses for itself: "" for
// those of users, containers and pods, and where the cgroup is not known.
func SystemUnit(process procs.Process) string {
	if process.PodUID != "" || process.ContainerID != "" {
		return ""
	}
	for i, part := range strings.Split(process.Cgroup, "/") {
		service := strings.HasSuffix(part, ".service")
		switch {
		case i == 0 && part == "":
		case service && i > 1 && IsUnitName(part):
			return part
		case service || part == "user.slice" || !strings.HasSuffix(part, ".slice"):
			return ""
		}
	}
	return ""
}

// PodArguments are "-n NAMESPACE NAME" of a pod, "namespace/name".
func PodArguments(name string) []string {
	namespace, pod, ok := strings.Cut(name, "/")
	if !ok {
		namespace, pod = "NAMESPACE", name
	}
	if ok && !IsLabelName(namespace) || !IsObjectName(pod) {
		return []string{"-n", "NAMESPACE", "POD"}
	}
	return []string{"-n", namespace, pod}
}
