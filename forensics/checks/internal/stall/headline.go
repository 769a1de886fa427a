package stall

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Headline are the words of a headline about goroutines that are blocked.
type Headline struct {
	// Is says what is wrong, May says it where that is not proven: "kubelet is hung", "kubelet may be hung".
	Is, May string
	// Part is what is blocked: "housekeeping".
	Part string
	// Effect is for the headline of a diagnosis with another cause; where it is empty it is made of Is and Part.
	Effect string
}

// title is "kubelet is hung: housekeeping blocked for at least 10 min by containerd (no answer to ListPodSandbox)".
func (h Headline) title(p *forensics.Pass, worst *Goroutine) string {
	is := h.Is
	if !worst.Proven {
		is = h.May
	}
	return is + ": " + h.Part + " blocked" + worst.HowLong() + worst.by(p)
}

func (h Headline) effect() string {
	if h.Effect != "" {
		return h.Effect
	}
	return h.Is + " (" + h.Part + " blocked)"
}

// by names the culprit for a headline, by the name that its owner knows it by: " by CephFS 10.0.0.5:6789:/k8s".
func (t *Goroutine) by(p *forensics.Pass) string {
	switch t.Wait.Kind {
	case WaitFile:
		return t.byFile(p)
	case WaitChild:
		return byChild(p, t.Wait)
	case WaitLock:
		return " by a lock (" + LockOwner(t.Wait) + ")"
	case WaitSend:
		return " by a full channel"
	case WaitRuntime:
		name := "the container runtime"
		if e := p.Model.RuntimeEntity(); e.ID != "runtime" {
			name = e.ID
		}
		return " by " + name + " (no answer to " + t.Wait.question() + ")"
	case WaitCSI:
		name := "a CSI driver"
		if driver := OnlyDriver(p); driver != "" {
			name = "CSI driver " + driver
		}
		return " by " + name + " (no answer to " + t.Wait.Call + ")"
	case waitDaemon:
		return " by another daemon (no answer to " + t.Wait.Call + ")"
	case WaitAPI:
		return " by the API server (no answer)"
	case WaitSystemd:
		return " by systemd (no answer to " + t.Wait.Call + ")"
	case waitPLEG:
		return " by PLEG (no new pod status)"
	case waitUsage:
		return " by cAdvisor (no new container statistics)"
	}
	return ""
}

// byFile names the file system: the one that the thread waits for or, where no thread is known, the only one that has a mount point of the
// path's length. That one is only possible.
func (t *Goroutine) byFile(p *forensics.Pass) string {
	if t.Thread != nil {
		return OnWhat(p, *t.Thread)
	}
	m, ok := t.OnlyMount(p)
	if !ok {
		return " in a file system call"
	}
	return ", possibly by " + fsfamily.Label(m.FSType, m.Source)
}

// OnlyMount is the only file system that has a mount point of the length of the path, of a goroutine whose thread is not known.
func (t *Goroutine) OnlyMount(p *forensics.Pass) (m mounts.Mount, ok bool) {
	n, known := pathLength(t.Goroutine)
	if t.Thread != nil || t.Wait.Kind != WaitFile || !known {
		return m, false
	}
	for _, other := range mountsOfLength(p, t.Goroutine, n) {
		if ok && other.Device != m.Device {
			return m, false
		}
		m, ok = other, true
	}
	return m, ok
}

// OnWhat says for a headline what blocks a thread: " by CephFS 10.0.0.5:6789:/k8s" where the kernel says that it waits for that file
// system, else " on /mnt/x" or " in nfs".
func OnWhat(p *forensics.Pass, t procs.Thread) string {
	for _, e := range forensics.Causes(p.Model, forensics.ThreadEntity(t)) {
		if e.Kind != forensics.KindMount && e.Kind != forensics.KindSuperblock {
			continue
		}
		if list := p.Model.MountsOf(t.Device); len(list) > 0 && (e.Kind == forensics.KindMount || e.ID == t.Device) {
			return " by " + fsfamily.Label(list[0].FSType, list[0].Source)
		}
	}
	switch {
	case t.Path != "":
		return " on " + t.Path
	case t.Wait.FS != "":
		return " in " + t.Wait.FS
	}
	return ""
}

func byChild(p *forensics.Pass, w Wait) string {
	if w.output {
		return " by the open output of an ended command"
	}
	if w.PID == 0 {
		return " by a child process"
	}
	name := fmt.Sprintf("child process %d", w.PID)
	if process, ok := p.Model.Process(w.PID); ok && process.Comm != "" {
		name = fmt.Sprintf("child process %s (pid %d)", process.Comm, w.PID)
	}
	if w.inferred {
		return ", likely by " + name
	}
	return " by " + name
}

// LockOwner names what a lock belongs to, by the type whose method locks it: "pod workers", "cAdvisor manager", "status manager".
func LockOwner(w Wait) string {
	s := splitSymbol(w.Call)
	if s.typ == "" {
		return ShortSymbol(w.Call)
	}
	name := strings.Join(words(strings.TrimSuffix(s.typ, "Impl")), " ")
	pkg := s.pkg[strings.LastIndexByte(s.pkg, '/')+1:]
	switch {
	case strings.Contains(s.pkg, "google/cadvisor/"):
		return "cAdvisor " + name
	case strings.Contains(name, " ") || name == pkg:
		return name
	}
	return strings.TrimSuffix(pkg, name) + " " + name // "status manager", "device manager"
}

// words takes a Go name apart: "podWorkers" is "pod", "workers".
func words(name string) (list []string) {
	begin := 0
	for i, r := range name {
		if unicode.IsUpper(r) && i > begin && !unicode.IsUpper(rune(name[i-1])) {
			list = append(list, strings.ToLower(name[begin:i]))
			begin = i
		}
	}
	return append(list, strings.ToLower(name[begin:]))
}

// Goroutines counts goroutines for a headline: "1 goroutine", "5,652 goroutines".
func Goroutines(n int) string {
	if n == 1 {
		return text.Plural(n, "goroutine")
	}
	return Number(n) + " goroutines"
}

// Number spells a count with commas: "5,652".
func Number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
