package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// What this process needs to come to a report: pipes and memory for a child, what the Go runtime polls with, what starting
// a process takes; and the threads of reserveThreads with those that the runtime makes by itself.
const (
	neededDescriptors = 16
	neededProcesses   = spareThreads + 2
)

// shortage says what there is too little of for this program to work, "" if it has enough. The Go runtime ends a program
// that gets no thread or no descriptor for itself, with a page of traces; so we try before it does.
func shortage() string {
	if n := freeDescriptors(neededDescriptors); n < neededDescriptors {
		return fmt.Sprintf("%s: %d available, %d needed", tooFewDescriptors, n, neededDescriptors)
	}
	if n := freeProcesses(neededProcesses); n < neededProcesses {
		return fmt.Sprintf("%s: %d available, %d needed", tooFewProcesses, n, neededProcesses)
	}
	return ""
}

// freeDescriptors counts the descriptors that are to be had, up to enough. What else goes wrong is no shortage.
func freeDescriptors(enough int) int {
	var all []int
	defer func() {
		for _, fd := range all {
			_ = unix.Close(fd)
		}
	}()
	for len(all) < enough {
		fd, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
		switch {
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.EINVAL): // the last is for a limit of 3
			return len(all)
		case err != nil:
			return enough
		}
		all = append(all, fd)
	}
	return enough
}

// freeProcesses counts the processes that are to be had, up to enough. It starts this program so often, but traced: such a
// process stands still before its first instruction, and is killed there. That takes 0.1 ms each. A limit is not
// read instead, because there are many: of the user, of each control group up to the root, of the machine.
func freeProcesses(enough int) int {
	runtime.LockOSThread() // the thread that traces has to be the one that started them
	defer runtime.UnlockOSThread()
	var all []int
	defer func() {
		for _, pid := range all {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for _, pid := range all {
			var status unix.WaitStatus
			for err := error(nil); err == nil || errors.Is(err, unix.EINTR); { // first that it stands, then that it has ended
				_, err = unix.Wait4(pid, &status, 0, nil)
			}
		}
	}()
	for len(all) < enough {
		pid, err := syscall.ForkExec("/proc/self/exe", []string{os.Args[0], "version"}, &syscall.ProcAttr{
			Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: unix.SIGKILL},
		})
		switch {
		case errors.Is(err, unix.EAGAIN):
			return len(all)
		case err != nil: // somebody traces us, or a policy forbids it
			return enough
		}
		all = append(all, pid)
	}
	return enough
}
