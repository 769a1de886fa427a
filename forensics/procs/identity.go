package procs

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/cri"
)

// Identity is what the kernel, and no process of itself, says of a process: what decides whether it is the daemon of the
// node that its name and its command line claim. A pod can choose both, and its file system, too.
type Identity struct {
	// ReaderUserNS is the user namespace of the program that read this, 0 where it could not be read.
	ReaderUserNS uint64 `json:"reader_user_ns,omitempty"`
	// UIDs are the real, effective and saved user id as the reader's user namespace has them; empty where they could not
	// be read.
	UIDs []int `json:"uids"`
	// Capabilities are the effective ones as the kernel prints them (CapEff, proc_pid_status(5)); absent where they
	// could not be read.
	Capabilities string `json:"effective_capabilities,omitempty"`
	// Cgroups are the paths in all hierarchies, each once; empty where they could not be read.
	Cgroups []string `json:"cgroups"`
	// Executable is the link /proc/PID/exe, with the suffix " (deleted)" as the kernel puts it.
	Executable string `json:"executable,omitempty"`
	// Package is the main package of a Go program (k8s.io/kubernetes/cmd/kubelet). It is present only if the name of the file does not
	// show which program it is, and the package was read.
	Package string `json:"package,omitempty"`
	// Unread says what could not be read, and why.
	Unread []string `json:"unread"`
}

// A Verdict says whether a process may be taken for a daemon of the node, and why not.
type Verdict struct {
	Status VerdictStatus
	// Why follows the name of the process in a sentence ("runs as uid 65534, not as root"); "" for Genuine and Unrecorded.
	Why string
}

// VerdictStatus is what is known of a process that calls itself a daemon of the node.
type VerdictStatus string

// The statuses of a verdict. Only what is Genuine may be given credentials.
const (
	// Genuine: the kernel vouches for it.
	Genuine VerdictStatus = "genuine"
	// Impostor: it is none, whatever it says.
	Impostor VerdictStatus = "impostor"
	// Undetermined: what decides could not be read.
	Undetermined VerdictStatus = "undetermined"
	// Unrecorded: the evidence is of a version that did not look. Its verdicts rest on names.
	Unrecorded VerdictStatus = "unrecorded"
)

// OfNode says whether a process belongs to the node itself, not to a pod. It runs as root in the user namespace of the
// reading program, with the capability to mount, and in no pod's cgroup in any hierarchy. No unprivileged pod has that capability,
// whatever the name of its cgroup. A container outside of pods (a kubelet in Docker, a node of kind) passes.
func (p *Process) OfNode() Verdict {
	id := p.Identity
	switch {
	case id == nil && p.UserNS == 0:
		return Verdict{Unrecorded, ""}
	case id == nil:
		return Verdict{Undetermined, "was not examined in detail"}
	}
	undetermined := ""
	for _, check := range []func() (impostor, unknown string){p.user, p.namespace, p.capable, p.inPod} {
		impostor, unknown := check()
		if impostor != "" {
			return Verdict{Impostor, impostor}
		}
		undetermined = cmp.Or(undetermined, unknown)
	}
	if undetermined != "" {
		return Verdict{Undetermined, undetermined + p.whyUnread()}
	}
	return Verdict{Genuine, ""}
}

// MayMount says whether a process may mount in the user namespace of the reading program, as the kubelet of a node
// inside a privileged container may, even in a pod. It is true if the identity was not read.
func (p *Process) MayMount() bool {
	if p.Identity == nil {
		return true
	}
	for _, check := range []func() (impostor, unknown string){p.user, p.namespace, p.capable} {
		if impostor, _ := check(); impostor != "" {
			return false
		}
	}
	return true
}

// Daemon is [Process.OfNode] for a process that also has to run one of some programs. The name of its executable, or else
// of its main package, decides, with an optional version or suffix ("kubelet-1.34.4", "kubelet.old"). The name that a
// process gives itself does not count. A process that has ended has no executable.
func (p *Process) Daemon(programs ...string) Verdict {
	v := p.OfNode()
	if p.Identity == nil || v.Status == Impostor || p.State == "Z" || p.State == "X" {
		return v
	}
	executable := strings.TrimSuffix(p.Identity.Executable, " (deleted)")
	runs := func(name string) bool {
		return slices.ContainsFunc(programs, func(program string) bool { return fileOf(path.Base(name), program) })
	}
	switch {
	case executable == "" && v.Status == Genuine:
		return Verdict{Undetermined, "has an unknown executable" + p.whyUnread()}
	case executable != "" && !runs(executable) && !runs(p.Identity.Package):
		return Verdict{Impostor, "runs " + p.Identity.Executable}
	}
	return v
}

// fileOf says whether a file is called like a program: "kubelet", "kubelet-1.34.4", but not "kubelets".
func fileOf(name, program string) bool {
	rest, ok := strings.CutPrefix(name, program)
	return ok && (rest == "" || strings.ContainsRune(".-_;0123456789", rune(rest[0])))
}

func (p *Process) user() (impostor, unknown string) {
	uids := p.Identity.UIDs
	if len(uids) == 0 {
		return "", "runs as an unknown user"
	}
	if i := slices.IndexFunc(uids, func(uid int) bool { return uid != 0 }); i >= 0 {
		return fmt.Sprintf("runs as uid %d, not as root", uids[i]), ""
	}
	return "", ""
}

func (p *Process) namespace() (impostor, unknown string) {
	own := p.Identity.ReaderUserNS
	switch {
	case own == 0 || p.UserNS == 0:
		return "", "is in an unknown user namespace"
	case own != p.UserNS:
		return fmt.Sprintf("is in another user namespace (%d)", p.UserNS), ""
	}
	return "", ""
}

// capSysAdmin is CAP_SYS_ADMIN of include/uapi/linux/capability.h.
const capSysAdmin = 21

func (p *Process) capable() (impostor, unknown string) {
	caps, err := strconv.ParseUint(p.Identity.Capabilities, 16, 64)
	switch {
	case err != nil:
		return "", "has unknown capabilities"
	case caps&(1<<capSysAdmin) == 0:
		return "lacks the capability to mount (CAP_SYS_ADMIN)", ""
	}
	return "", ""
}

func (p *Process) inPod() (impostor, unknown string) {
	for _, name := range p.Identity.Cgroups {
		if uid, _ := PodFromCgroup(name); uid != "" {
			return "is in the cgroup of pod " + uid, ""
		}
		if ofPods(name) {
			return "is in a cgroup of pods (" + name + ")", ""
		}
	}
	if len(p.Identity.Cgroups) == 0 {
		return "", "is in an unknown cgroup"
	}
	return "", ""
}

// ofPods says whether a cgroup is one of those that the kubelet makes for pods (kubepods, kubepods.slice,
// kubepods-burstable.slice), also below a --cgroup-root, or one that a runtime of the kubelet makes for a container
// where the kubelet names no parent (--cgroups-per-qos=false): cri-containerd-<id>.scope, crio-<id>, /k8s.io/<id>.
// Those of Docker and Podman are not of pods alone.
func ofPods(cgroup string) bool {
	before := ""
	for part := range strings.SplitSeq(cgroup, "/") {
		rest, pods := strings.CutPrefix(part, "kubepods")
		if pods && (rest == "" || rest[0] == '.' || rest[0] == '-') || cri.IsScope(part, before) && containerIDIn(part) != "" {
			return true
		}
		before = part
	}
	return false
}

func (p *Process) whyUnread() string {
	if len(p.Identity.Unread) == 0 {
		return ""
	}
	return " (" + strings.Join(p.Identity.Unread, "; ") + ")"
}
