// Package remedy makes the steps of findings: safe words of commands, and what to do about processes, mounts, servers, disks and the kubelet.
package remedy

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/poduid"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// A command of a report is pasted into the shell of root on the host, and every string of the evidence may be the lie of a pod, or
// of who wrote the file. So a command names programs of the host alone, which work on the host: nothing is run in another
// mount namespace, whose programs are others'. What comes from the node is one argument that can be no option, of the grammar of
// what it is to be, and never part of a script for another shell (sh -c); where it is not, there is an instruction instead of a command.
// In an instruction such a string is quoted, so that it does no harm even if somebody pastes that.

// The grammar of names: RFC 1123 subdomains for pods, claims and nodes, labels for namespaces (apimachinery,
// pkg/util/validation), UIDs as the kubelet has them, and units of systemd (systemd.unit(5)).
var (
	objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	labelName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	unitName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9:_.@-]*$`)
	mapName    = regexp.MustCompile(`^[A-Za-z0-9#+.:=@_][A-Za-z0-9#+.:=@_-]*$`) // device mapper, and disks
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

// Signal is a step that sends a signal to a process ("-CONT"; SIGTERM if there is none), or else finds out what it is.
func Signal(r forensics.Remedy, pid int, signal ...string) forensics.Remedy {
	if !isProcess(pid) {
		return Tell(r, ActionLook, fmt.Sprintf("Find out what the process is: %d is no number of one that may be sent a signal", pid))
	}
	return Run(r, r.Action, append(append([]string{"kill"}, signal...), strconv.Itoa(pid))...)
}

// podWord names a pod in a sentence: its name only if that is from somebody who is to be believed.
func podWord(p *forensics.Pass, uid string) string {
	namespace, name := p.Model.PodName(uid)
	switch {
	case !poduid.Valid(uid):
		return "with the UID " + shellword.Quote(uid)
	case p.Model.PodNameKnown(uid) && IsObjectName(name) && IsLabelName(namespace):
		return fmt.Sprintf("%s/%s (%s)", namespace, name, uid)
	}
	return "with the UID " + uid
}

// ProcessWord is who, for a sentence: nothing of it is special to a shell.
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
