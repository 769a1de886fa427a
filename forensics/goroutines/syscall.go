package goroutines

import "strings"

// Syscall is a system call as the arguments of its Go wrapper tell it.
type Syscall struct {
	// Number is the kernel's number of the call on the architecture of the
	// dumped process: 0x3d is wait4 on amd64 and getdents64 on arm64.
	Number uint64 `json:"number"`
	// Args are the arguments behind the number, as many as the wrapper has:
	// three, or six, of which the kernel may ignore the last ones.
	Args []Word `json:"args"`
}

// Syscall returns the system call that g is in: that of the innermost frame,
// which must be one of the wrappers of the standard library or of
// golang.org/x/sys/unix. It is false if g is not in such a call, has returned
// from it (state "runnable"), or if the number is not known: the aggregated
// forms have no arguments, and Go 1.19 to 1.21 (kubelet 1.25 to 1.29) print
// stale registers in their place, marked with "?". See [Goroutine.SyscallName].
//
// Whether the call blocks is another question: see State and WaitMinutes.
func (g Goroutine) Syscall() (Syscall, bool) {
	if g.State == "runnable" {
		return Syscall{}, false
	}
	for _, f := range g.Frames {
		if isSyscallWrapper(f.Func) {
			if w := f.Words(); len(w) > 0 && w[0].Known && !w[0].Uncertain {
				n := min(len(w), 1+argumentsOf(f.Func))
				return Syscall{Number: w[0].Value, Args: w[1:n]}, true
			}
		} else if !belowSyscall(f.Func) {
			break
		}
	}
	return Syscall{}, false
}

// SyscallName returns the kernel's name of the system call that g is in, as the
// names of the Go functions tell it: in every form and release, also where
// [Goroutine.Syscall] does not know. It is empty if g is not in a system call, or if
// no known function made it.
func (g Goroutine) SyscallName() string {
	if g.State == "runnable" {
		return ""
	}
	if g.State == "syscall" && wrapperless(g.Frames) {
		return kernelName(g.Frames[0].Func)
	}
	inCall := false
	for _, f := range g.Frames {
		switch {
		case isSyscallWrapper(f.Func):
			inCall = true
		case belowSyscall(f.Func):
		case !inCall:
			return ""
		default:
			return kernelName(f.Func)
		}
	}
	return ""
}

// kernelName translates the function that called a wrapper.
func kernelName(function string) string {
	if strings.HasPrefix(function, "os.(*Process).") { // blockUntilWaitable, pidfdWait
		return "waitid"
	}
	for _, pkg := range [...]string{"syscall.", "golang.org/x/sys/unix.", "internal/syscall/unix."} {
		name, ok := strings.CutPrefix(function, pkg)
		if !ok {
			continue
		}
		name = strings.ToLower(name)
		switch name {
		case "fstatat":
			return "newfstatat"
		case "open":
			return "openat"
		case "getdents", "readdirent":
			return "getdents64"
		case "unmount", "umount":
			return "umount2"
		case "pread", "pwrite":
			return name + "64"
		case "epollwait":
			return "epoll_wait"
		}
		return name
	}
	return ""
}

// argumentsOf says how many arguments a wrapper hands to the kernel. Go 1.16 and
// before print the results behind them: stale words.
func argumentsOf(wrapper string) int {
	switch wrapper[len(wrapper)-1] {
	case '6':
		return 6
	case '9':
		return 9
	}
	return 3
}

// isSyscallWrapper knows the functions whose first argument is the number of a
// system call. The package of the assembly stub moved in Go 1.18, 1.24 and 1.26.
func isSyscallWrapper(name string) bool {
	switch name {
	case "syscall.Syscall", "syscall.Syscall6", "syscall.Syscall9",
		"syscall.RawSyscall", "syscall.RawSyscall6",
		"syscall.rawSyscallNoError", "syscall.rawVforkSyscall",
		"internal/runtime/syscall/linux.Syscall6",
		"internal/runtime/syscall.Syscall6",
		"runtime/internal/syscall.Syscall6",
		"golang.org/x/sys/unix.Syscall", "golang.org/x/sys/unix.Syscall6",
		"golang.org/x/sys/unix.SyscallNoError",
		"golang.org/x/sys/unix.RawSyscall", "golang.org/x/sys/unix.RawSyscall6",
		"golang.org/x/sys/unix.RawSyscallNoError":
		return true
	}
	return false
}

// belowSyscall says whether a frame can stand further in than a wrapper: the
// runtime's, which crash dumps at GOTRACEBACK=system show.
func belowSyscall(name string) bool {
	return isRuntimeFunc(name) || name == "syscall.runtime_entersyscall" || name == "syscall.runtime_exitsyscall"
}
