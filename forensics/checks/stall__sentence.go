package checks

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// sentence says which goroutine, and which thread, is in which call for what: "goroutine 117 (sync loop) = thread
// 9825/9839 is in newfstatat(...)".
func (t standing) sentence(p *forensics.Pass) string {
	if t.thread != nil && t.wait.kind == waitFile {
		return fmt.Sprintf("%s = thread %d/%d %s", t.label(), t.thread.PID, t.thread.TID, threadCall(p, *t.thread))
	}
	return t.label() + " " + t.waits(p)
}

// waits says what the goroutine waits for, without its thread.
func (t standing) waits(p *forensics.Pass) string {
	switch t.wait.kind {
	case waitFile:
		return standsOnPath(p, t.goroutine)
	case waitChild:
		return "waits for " + childName(p, t.wait)
	case waitLock:
		return "waits for a lock in " + shortSymbol(t.wait.call) + t.heldBy(p)
	case waitSend:
		return "waits in " + ownCaller(t.goroutine) + " to send into a channel that is full"
	case waitRuntime:
		name := "the container runtime"
		if e := p.Model.RuntimeEntity(); e.ID != "runtime" {
			name += " (" + e.ID + ")"
		}
		return "waits for " + name + " to answer " + t.wait.call
	case waitCSI:
		return "waits for a CSI driver to answer " + t.wait.call
	case waitDaemon:
		return fmt.Sprintf("waits for another daemon to answer %s (%s)", t.wait.call, splitSymbol(t.goroutine.Frames[t.wait.frame].Func).pkg)
	case waitAPI:
		return "waits for the API server, in " + ownCaller(t.goroutine)
	case waitSystemd:
		return "waits for systemd to answer " + t.wait.call
	case waitPLEG:
		return "waits for the PLEG to look at its pod's containers"
	}
	return "stands in " + standsIn(t.goroutine)
}

// heldBy says who most likely holds the lock, and what that one waits for.
func (t standing) heldBy(p *forensics.Pass) string {
	if t.holder == nil {
		return ""
	}
	h := t.holder
	text := ", which " + h.stack.label() + " most likely holds"
	if h.wait.kind == waitNothing || h.wait.kind == waitLock {
		return text
	}
	other := standing{stack: h.stack, wait: h.wait, thread: h.stack.thread(p)}
	return text + "; that one " + strings.TrimPrefix(other.sentence(p), h.stack.label()+" ")
}

// threadCall says what the thread is in, without its age, and on which mount.
func threadCall(p *forensics.Pass, t procs.Thread) string {
	t.WaitSeconds = nil
	s := forensics.DescribeWait(t)
	if m, ok := p.Model.Mount(t.MountID); ok {
		s += fmt.Sprintf(" for %s (%s, mount %d)", m.Source, m.FSType, m.ID)
	}
	return s
}

// standsOnPath says what the goroutine stands in when its thread is not known, and which mounts it may be on.
func standsOnPath(p *forensics.Pass, g goroutines.Goroutine) string {
	s := "stands in " + standsIn(g)
	if n, ok := pathLength(g); ok {
		s += fmt.Sprintf(", on a path of %d bytes", n)
		if list := mountsOfLength(p, g, n); len(list) > 0 {
			s += ": " + some(list)
		}
	}
	return s
}

// childName is "its child process 4711 (umount), state D".
func childName(p *forensics.Pass, w wait) string {
	switch {
	case w.call == "output":
		return "the output of a command that has ended: a process that it left behind holds the pipe"
	case w.pid == 0:
		return "a child process (its pid is not in the dump)"
	}
	s := fmt.Sprintf("its child process %d", w.pid)
	if process, ok := p.Model.Process(w.pid); ok {
		s += fmt.Sprintf(" (%s), state %s", process.Comm, process.State)
	}
	if w.inferred {
		s += " (the only one that it has)"
	}
	return s
}

// standsIn names the call that a goroutine waits in as its programmer would: the outermost frame of the standard
// library, and who called it.
func standsIn(g goroutines.Goroutine) string {
	call, caller := "", ""
	for _, f := range g.Frames {
		short := shortSymbol(f.Func)
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
			return shortSymbol(f.Func)
		}
	}
	return standsIn(g)
}

// shortSymbol drops the import path: "kubelet.(*podWorkers).UpdatePod".
func shortSymbol(s string) string {
	end := len(s)
	if i := strings.IndexAny(s, "(["); i >= 0 {
		end = i
	}
	return s[strings.LastIndexByte(s[:end], '/')+1:]
}
