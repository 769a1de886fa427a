package goroutines

import "strings"

// Blocked says whether g waits for something that a healthy goroutine does not
// rest in: a system call other than one that listens for events, a lock, a
// channel nobody takes from, or, for a minute or more, the answer to a gRPC
// request. A short wait of these kinds is normal: look at WaitMinutes too.
//
// Aggregated dumps have no states: there the innermost frames decide, and
// waits in channels and gRPC requests are not seen.
func (g Goroutine) Blocked() bool {
	switch g.State {
	case "chan send", "sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock":
		return true
	case "semacquire", "":
		return waitsForLock(g.Frames) || g.State == "" && inBlockingCall(g.Frames)
	case "syscall":
		return inBlockingCall(g.Frames) || wrapperless(g.Frames) && !listens(g.Frames)
	case "select", "chan receive", "sync.Cond.Wait":
		return g.WaitMinutes >= 1 && waitsForGRPC(g.Frames)
	}
	return false
}

// waitsForLock tells a lock from a WaitGroup, which share a state before Go 1.24.
func waitsForLock(frames []Frame) bool {
	for i := range min(4, len(frames)) {
		name := frames[i].Func
		if strings.HasPrefix(name, "sync.(*Mutex).") || strings.HasPrefix(name, "sync.(*RWMutex).") ||
			strings.HasPrefix(name, "internal/sync.(*Mutex).") {
			return true
		}
		if !strings.HasPrefix(name, "sync.runtime_") && !strings.HasPrefix(name, "internal/sync.runtime_") {
			return false
		}
	}
	return false
}

// inBlockingCall says whether the innermost frames are a system call that does
// not listen for events. It goes by names, as aggregated dumps have no numbers.
func inBlockingCall(frames []Frame) bool {
	inCall := false
	for i := range frames {
		name := frames[i].Func
		switch {
		case isSyscallWrapper(name):
			inCall = true
		case belowSyscall(name):
		case !inCall:
			return false
		default:
			return !listens(frames[i:])
		}
	}
	return inCall
}

// wrapperless says whether somebody has left out the wrapper: the innermost frame is the function that calls it.
func wrapperless(frames []Frame) bool {
	return len(frames) > 0 && !isSyscallWrapper(frames[0].Func) && !belowSyscall(frames[0].Func) && kernelName(frames[0].Func) != ""
}

// listens says whether the call of frames[0] is one that waits for events. A
// read through internal/poll is of a file that cannot be polled, so that it
// waits for the file system; a direct one is of inotify, a netlink socket and such.
func listens(frames []Frame) bool {
	switch kernelName(frames[0].Func) {
	case "read", "readv", "recvfrom", "recvmsg", "recvmsgn", "accept", "accept4":
		return !throughPoller(frames)
	case "epoll_wait", "epollpwait", "poll", "ppoll", "select", "pselect", "pselect6", "futex",
		"nanosleep", "clocknanosleep", "rtsigtimedwait", "pause", "ioctl":
		return true
	}
	return false
}

func throughPoller(frames []Frame) bool {
	for i := range min(5, len(frames)) {
		if strings.HasPrefix(frames[i].Func, "internal/poll.") {
			return true
		}
	}
	return false
}

func waitsForGRPC(frames []Frame) bool {
	for i := range frames {
		switch frames[i].Func {
		case "google.golang.org/grpc.(*ClientConn).Invoke", "google.golang.org/grpc.Invoke", "google.golang.org/grpc.invoke":
			return true
		}
	}
	return false
}

// asks says whether a goroutine waits for an answer of another process, however short its wait: by gRPC, or through the
// clients of the API server, of Docker and of systemd.
func asks(frames []Frame) bool {
	for i := range frames {
		name := frames[i].Func
		if strings.HasPrefix(name, "k8s.io/client-go/rest.(*Request).") || strings.HasPrefix(name, "k8s.io/client-go/kubernetes/typed/") || strings.Contains(name, ".(*kubeDockerClient).") ||
			strings.HasPrefix(name, "github.com/godbus/dbus") || strings.HasPrefix(name, "github.com/coreos/go-systemd") {
			return true
		}
	}
	return waitsForGRPC(frames)
}
