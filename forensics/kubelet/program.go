package kubelet

import (
	"path"
	"strings"
	"time"
)

// The programs that run a kubelet.
const (
	programKubelet   = "kubelet"
	programHyperkube = "hyperkube"
	programKubelite  = "kubelite"
	programK3s       = "k3s"
	programRKE2      = "rke2"
	programK0s       = "k0s"
)

// Programs are the names of the executables that run a kubelet.
var Programs = []string{programKubelet, programHyperkube, programKubelite, programK3s, programRKE2, programK0s}

// A Candidate is a process that may be a kubelet, see [IsCandidate].
type Candidate struct {
	PID, PPID int
	// StartTicks is the start in clock ticks since boot (field 22 of /proc/PID/stat), 0 if unknown.
	StartTicks uint64
	// Doubt says why the process is not believed to be the node's kubelet, whatever it calls itself ("runs as uid
	// 65534, not as root"); "" if it is. Undetermined says that it may well be, and that this could not be found out.
	// The caller decides, see procs.Process.Daemon; a candidate without a doubt is trusted with credentials.
	Doubt        string
	Undetermined bool
	// Comm is the name of the process, which the kernel cuts at 15 bytes.
	Comm string
	// Args is the command line; empty where reading it was not possible.
	Args []string
	// Executable is the link /proc/PID/exe, State the letter of /proc/PID/stat.
	Executable string
	State      string
	Started    time.Time
	// MountNS is the inode of /proc/PID/ns/mnt, 0 if unknown.
	MountNS uint64
	// Container says that the process belongs to a container, by its cgroup.
	Container bool
}

// dead reports whether the process has ended, though threads of it may be stuck in the kernel.
func (c Candidate) dead() bool { return c.State == "Z" || c.State == "X" }

// InOtherMountNS reports whether the process is known to see other files than the host, whose mount namespace is given.
func (c Candidate) InOtherMountNS(hostMountNS uint64) bool {
	return hostMountNS != 0 && c.MountNS != 0 && c.MountNS != hostMountNS
}

// supervises reports whether the process is rke2 or k0s itself, whose kubelet is a child process.
func (c Candidate) supervises() bool {
	program := programOf(c.Comm, splitTitle(c.Args))
	return program == programRKE2 || program == programK0s
}

// IsCandidate reports whether a process with that name and command line runs a kubelet, and by which program: as
// itself ("kubelet", also as "kubelet-1.34.4"), inside "hyperkube", "kubelite" (microk8s) or "k3s". "rke2" and "k0s"
// run it as a child process; they count so that a node is not called empty while that child cannot be seen.
//
// Where the command line could not be read the name alone decides. Calls that only print something ("kubelet
// --version", "k3s kubectl") are no candidates.
func IsCandidate(comm string, args []string) (program string, ok bool) {
	args = splitTitle(args)
	program = programOf(comm, args)
	switch program {
	case "":
		return "", false
	case programHyperkube:
		ok = len(args) > 1 && args[1] == programKubelet
	case programK3s, programRKE2:
		ok = isAgent(comm, args)
	case programK0s:
		ok = isK0sWorker(args)
	default:
		ok = true
	}
	if !ok || printsOnly(args) {
		return "", false
	}
	return program, true
}

// splitTitle undoes setproctitle(3), with which k3s and rke2 hide their arguments: "/usr/local/bin/k3s server" and
// what remained of the longer command line, as empty strings (k3s pull request 2072).
func splitTitle(args []string) []string {
	for len(args) > 0 && args[len(args)-1] == "" {
		args = args[:len(args)-1]
	}
	if len(args) == 1 && strings.ContainsRune(args[0], ' ') {
		return strings.Fields(args[0])
	}
	return args
}

// programOf names the program of a process by the first word of its command line, else by its name.
func programOf(comm string, args []string) string {
	if len(args) == 0 {
		return programName(comm)
	}
	word := path.Base(args[0])
	if program := programName(word); program != "" {
		return program
	}
	switch strings.TrimPrefix(word, "-") {
	case "sh", "bash", "dash", "ash", "busybox", "python3", "perl":
		return "" // a script of that name, which starts the program as its child
	}
	return programName(comm)
}

// programName tells the programs by the name of their file. Versions may be appended ("kubelet-1.34.4", "k3s-arm64").
func programName(name string) string {
	switch name {
	case programKubelet, programHyperkube, programKubelite, programK3s, programRKE2, programK0s:
		return name
	case "k3s-server", "k3s-agent", "k3s-arm64", "k3s-armhf":
		return programK3s
	}
	version, ok := strings.CutPrefix(name, programKubelet+"-")
	if ok && strings.IndexAny(strings.TrimPrefix(version, "v"), "0123456789") == 0 {
		return programKubelet
	}
	return ""
}

// isAgent reports whether k3s or rke2 was called for its long-running commands.
func isAgent(comm string, args []string) bool {
	if len(args) == 0 {
		return strings.HasSuffix(comm, "-server") || strings.HasSuffix(comm, "-agent")
	}
	if base := path.Base(args[0]); strings.HasSuffix(base, "-server") || strings.HasSuffix(base, "-agent") {
		return true
	}
	for _, arg := range args[1:] {
		switch arg {
		case "server":
			return !hasFlag(args, "disable-agent")
		case "agent":
			return true
		case "kubectl", "crictl", "ctr", "check-config", "etcd-snapshot", "secrets-encrypt", "certificate",
			"completion", "token", "help":
			return false
		}
	}
	return false
}

// isK0sWorker reports whether k0s runs a worker.
func isK0sWorker(args []string) bool {
	for _, arg := range args[min(1, len(args)):] {
		switch arg {
		case "worker":
			return true
		case "controller", "server":
			return hasFlag(args, "enable-worker") || hasFlag(args, "single")
		}
	}
	return false
}

func hasFlag(args []string, name string) bool {
	value, ok := ParseFlags(args)[name]
	return ok && value != "false"
}

// printsOnly recognises calls that print something and exit.
func printsOnly(args []string) bool {
	for _, arg := range args[min(1, len(args)):] {
		switch arg {
		case "--version", "--version=true", "--version=raw", "--help", "-h":
			return true
		}
	}
	return false
}
