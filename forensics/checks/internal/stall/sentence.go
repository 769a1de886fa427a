package stall

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

// Sentence says which goroutine, and which thread, is in which call: "goroutine 117 (sync loop) = thread 9825/9839 is in newfstatat(...)".
func (t Goroutine) Sentence(p *forensics.Pass) string {
	if t.Thread != nil && t.Wait.Kind == WaitFile {
		return fmt.Sprintf("%s = thread %d/%d %s", t.Label(), t.Thread.PID, t.Thread.TID, ThreadCall(p, *t.Thread))
	}
	return t.Label() + " " + t.waits(p)
}

// waits says what the goroutine waits for, without its thread.
func (t Goroutine) waits(p *forensics.Pass) string {
	switch t.Wait.Kind {
	case WaitFile:
		return callOnPath(p, t.Goroutine)
	case WaitChild:
		return "waits for " + childName(p, t.Wait)
	case WaitLock:
		return "waits for a lock in " + ShortSymbol(t.Wait.Call) + t.lockHolder(p)
	case WaitSend:
		return "waits in " + ownCaller(t.Goroutine) + " to send to a full channel"
	case WaitRuntime:
		name := "the container runtime"
		if e := p.Model.RuntimeEntity(); e.ID != "runtime" {
			name += " (" + e.ID + ")"
		}
		return "waits for " + name + " to answer " + t.Wait.question()
	case WaitCSI:
		return "waits for a CSI driver to answer " + t.Wait.Call
	case waitShim:
		return "waits for a shim to answer " + t.Wait.Call
	case waitDaemon:
		return fmt.Sprintf("waits for another daemon to answer %s (%s)", t.Wait.Call, splitSymbol(t.Goroutine.Frames[t.Wait.frame].Func).pkg)
	case WaitAPI:
		return "waits for the API server, in " + ownCaller(t.Goroutine)
	case WaitSystemd:
		return "waits for systemd to answer " + t.Wait.Call
	case waitPLEG:
		return "waits for PLEG to report a newer status of its pod"
	case waitUsage:
		return "waits for cAdvisor to measure all containers"
	}
	return "is in " + CallIn(t.Goroutine)
}

// question is the call's usual name: "ListPodSandbox", "docker InspectContainer".
func (w Wait) question() string {
	if w.docker {
		return "docker " + w.Call
	}
	return w.Call
}

// lockHolder says which goroutine most likely has the lock, and what that one waits for.
func (t Goroutine) lockHolder(p *forensics.Pass) string {
	if t.Holder == nil {
		return ""
	}
	h := t.Holder
	text := "; " + h.Stack.Label() + " most likely has the lock"
	if h.wait.Kind == waitNothing || h.wait.Kind == WaitLock {
		return text
	}
	other := Goroutine{Stack: h.Stack, Wait: h.wait, Thread: h.Stack.thread(p)}
	return text + " and " + strings.TrimPrefix(other.Sentence(p), h.Stack.Label()+" ")
}

// ThreadCall says which call a thread is in, without its age, and on which mount.
func ThreadCall(p *forensics.Pass, t procs.Thread) string {
	s := forensics.DescribeWait(t, forensics.WaitAtLeast{})
	if m, ok := p.Model.Mount(t.MountID); ok {
		s += fmt.Sprintf(", on %s (mount %d)", fsfamily.Label(m.FSType, m.Source), m.ID)
	}
	return s
}

// callOnPath says which call a goroutine without a known thread is in, and which mounts it may be on.
func callOnPath(p *forensics.Pass, g goroutines.Goroutine) string {
	s := "is in " + CallIn(g)
	n, ok := pathLength(g)
	if !ok {
		return s
	}
	s += fmt.Sprintf(", on a path of %d bytes", n)
	var points []string
	for _, m := range mountsOfLength(p, g, n) {
		points = append(points, fmt.Sprintf("%s (%s, mount %d)", m.MountPoint, fsfamily.Label(m.FSType, m.Source), m.ID))
	}
	if len(points) > 0 {
		s += ". Mount points of this length, without those that responded: " + findings.Some(points)
	}
	return s
}

// childName is "its child process 4711 (umount), state D".
func childName(p *forensics.Pass, w Wait) string {
	switch {
	case w.output:
		return "the output of a command that has ended: another process that it started still has the pipe open"
	case w.PID == 0:
		return "a child process (its pid is not in the dump)"
	}
	s := fmt.Sprintf("its child process %d", w.PID)
	if process, ok := p.Model.Process(w.PID); ok {
		s += fmt.Sprintf(" (%s), state %s", process.Comm, process.State)
	}
	if w.inferred {
		s += " (its only child process)"
	}
	return s
}

// CallIn names the call that a goroutine waits in: the outermost frame of the standard library, and its caller.
func CallIn(g goroutines.Goroutine) string {
	call, caller := "", ""
	for _, f := range g.Frames {
		short := ShortSymbol(f.Func)
		if isOwn(f.Func) {
			caller = short
			break
		}
		call = short
	}
	switch {
	case call == "":
		return caller
	case caller == "":
		return call
	}
	return call + ", called by " + caller
}

// isOwn says whether a function belongs to the program, not to the standard library or its extensions.
func isOwn(symbol string) bool {
	return strings.HasPrefix(symbol, "k8s.io/") || strings.HasPrefix(symbol, "github.com/")
}

// ownCaller is the innermost function of the kubelet itself, not of a library.
func ownCaller(g goroutines.Goroutine) string {
	for _, f := range g.Frames {
		if strings.HasPrefix(f.Func, "k8s.io/kubernetes/") {
			return ShortSymbol(f.Func)
		}
	}
	return CallIn(g)
}

// ShortSymbol drops the import path: "kubelet.(*podWorkers).UpdatePod".
func ShortSymbol(s string) string {
	end := len(s)
	if i := strings.IndexAny(s, "(["); i >= 0 {
		end = i
	}
	return s[strings.LastIndexByte(s[:end], '/')+1:]
}

// waitsLike says whether the sentences about two goroutines differ only in their ids.
func (t Goroutine) waitsLike(p *forensics.Pass, other Goroutine) bool {
	return t.Thread == nil && other.Thread == nil && strings.TrimPrefix(t.Sentence(p), t.Entity().String()) == strings.TrimPrefix(other.Sentence(p), other.Entity().String())
}

// sameWait names goroutines that wait as the one before them.
func sameWait(ids []int64) string {
	switch len(ids) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("Goroutine %d waits in the same way.", ids[0])
	}
	var names []string
	for _, id := range ids {
		names = append(names, fmt.Sprint(id))
	}
	return "Goroutines " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " wait in the same way."
}
