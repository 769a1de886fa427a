package stall

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// waitKind is what a goroutine waits for.
type waitKind string

const (
	waitNothing waitKind = ""        // it runs, is idle, or waits for something unknown
	WaitFile    waitKind = "file"    // a system call on a file or file system
	WaitChild   waitKind = "child"   // a process that it started
	WaitLock    waitKind = "lock"    // a lock of its own process
	WaitSend    waitKind = "send"    // a receiver for a full channel
	WaitRuntime waitKind = "runtime" // the container runtime
	WaitCSI     waitKind = "csi"     // a CSI driver
	waitDaemon  waitKind = "daemon"  // another daemon called by gRPC: a device plugin, a DRA driver
	WaitAPI     waitKind = "api"     // the API server
	WaitSystemd waitKind = "systemd" // systemd or D-Bus
	waitShim    waitKind = "shim"    // a shim of containerd
	waitPLEG    waitKind = "pleg"    // the PLEG, for a newer status of a pod
	waitUsage   waitKind = "usage"   // cAdvisor, for newer statistics of containers
)

// Wait is what one goroutine waits for.
type Wait struct {
	Kind waitKind
	// Call names it: "ListPodSandbox", "NodeUnpublishVolume", "os.Stat".
	Call string
	// docker says that the call is one of Docker's own API; output, that the child has ended while its output is still open.
	docker, output bool
	// PID is the child, 0 where it is unknown; inferred says that it is the kubelet's only child.
	PID      int
	inferred bool
	// Lock is the lock's address, 0 where it is unknown.
	Lock uint64
	// frame is the index of the frame that shows the wait.
	frame int
}

// WaitOf says what a goroutine waits for. States decide; without states (debug=0 and debug=1) the frames do, and then a short call looks
// the same as one that hangs.
func WaitOf(g goroutines.Goroutine) Wait {
	switch g.State {
	case "runnable", "running", "sleep":
		return Wait{}
	case "chan send":
		return Wait{Kind: WaitSend}
	}
	if g.Blocked() {
		if w, ok := lockWait(g); ok {
			return w
		}
		if w, ok := callWait(g); ok {
			return w
		}
	}
	if w, ok := outputWait(g); ok {
		return w
	}
	if g.State == "syscall" && HasFrame(g, monitorOf02) { // reads the eventfd of a cgroup, of which epoll has told that there is something
		return Wait{Kind: WaitFile, Call: "read"}
	}
	if headless(g) && onFile(g.Frames[0].Func) {
		return Wait{Kind: WaitFile, Call: CallIn(g)}
	}
	if g.State == "chan receive" && len(g.Frames) > 0 && isFunc(g.Frames[0].Func, "kubelet/container.(*cache).GetNewerThan") {
		return Wait{Kind: waitPLEG}
	}
	if g.State == "chan receive" && HasFrame(goroutines.Goroutine{Frames: g.Frames[:min(1, len(g.Frames))]}, "kubelet/images.(*imageManager).EnsureImageExists", "kubelet/images.(*imageManager).pullImage") {
		return Wait{Kind: WaitRuntime, Call: pullImage} // behind the puller, which may have others to pull before
	}
	if g.State == "semacquire" || g.State == "sync.WaitGroup.Wait" {
		if at := frameIndex(g, "cadvisor/manager.(*manager).getRequestedContainers"); at > 0 && g.Frames[at-1].Func == "sync.(*WaitGroup).Wait" {
			return Wait{Kind: waitUsage, frame: at} // until each container has been measured (OnDemandHousekeeping)
		}
	}
	return remoteWait(g)
}

// monitorOf02 is the loop of containerd 0.2 that learns of the end of each container.
const monitorOf02 = "containerd/supervisor.(*Monitor).processEvent"

// headless says that a goroutine has arguments, but no state: the lines above its calls are missing. So may be its innermost calls, also
// those of a record of several goroutines (debug=1).
func headless(g goroutines.Goroutine) bool {
	return g.State == "" && g.ID == 0 && len(g.Frames) > 0 && (g.Frames[0].Args != "" || g.Count >= FewAsking)
}

// onFile says whether a function does little else than a system call on a path.
func onFile(function string) bool {
	switch s := splitSymbol(function); s.pkg {
	case "os", "syscall", "golang.org/x/sys/unix":
		return lengthWord(function) > 0
	}
	return false
}

// callWait is a system call: on a file, or one that waits for a child.
func callWait(g goroutines.Goroutine) (Wait, bool) {
	if g.State != "syscall" && g.State != "" {
		return Wait{}, false
	}
	switch name := g.SyscallName(); name {
	case "wait4", "waitid":
		return Wait{Kind: WaitChild, Call: name, PID: childPID(g, name)}, true
	}
	return Wait{Kind: WaitFile, Call: CallIn(g)}, true
}

// childPID is the process that wait4 or waitid waits for, 0 where the arguments do not show it: Go 1.23 and later pass a pidfd instead.
func childPID(g goroutines.Goroutine, name string) int {
	const byPID = 1 // P_PID of waitid(2)
	at := 0
	call, ok := g.Syscall()
	switch {
	case !ok:
		return wait4Argument(g)
	case name == "waitid":
		if len(call.Args) < 2 || !call.Args[0].Known || call.Args[0].Value != byPID {
			return 0
		}
		at = 1
	}
	return pidOf(call.Args, at)
}

// wait4Argument finds the pid in an outer frame: Go 1.19 to 1.21 print stale registers for the innermost ones.
func wait4Argument(g goroutines.Goroutine) int {
	for _, f := range g.Frames {
		if f.Func == "syscall.wait4" || f.Func == "syscall.Wait4" {
			if pid := pidOf(f.Words(), 0); pid > 0 {
				return pid
			}
		}
	}
	return 0
}

func pidOf(words []goroutines.Word, i int) int {
	const most = 1 << 22 // PID_MAX_LIMIT
	if i >= len(words) || !words[i].Known || words[i].Uncertain || words[i].Value == 0 || words[i].Value > most {
		return 0
	}
	return int(words[i].Value)
}

// outputWait is a command whose process has ended while another process still has its output open: a daemon that it started, as mount
// helpers of FUSE file systems do.
func outputWait(g goroutines.Goroutine) (Wait, bool) {
	if g.State != "chan receive" && g.State != "select" {
		return Wait{}, false
	}
	for i, f := range g.Frames {
		switch f.Func {
		case "os/exec.(*Cmd).Wait", "os/exec.(*Cmd).awaitGoroutines":
			return Wait{Kind: WaitChild, output: true, frame: i}, true
		}
		if !strings.HasPrefix(f.Func, "runtime.") {
			break
		}
	}
	return Wait{}, false
}
