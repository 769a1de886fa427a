package testvm

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// roleEnv names the variable that makes the test binary the first process of a machine, or the test on it, to which the kernel
// hands on what it does not know of its command line; or the tests with old system calls.
const (
	roleEnv  = "TESTVM_ROLE"
	roleInit = "init"
	roleTest = "test"
	roleOld  = "old"
)

// firstNewCall is the first system call after those of Linux 3.10: sched_setattr.
var firstNewCall = map[string]uint32{"amd64": 314, "arm64": 274}

// RunTestsOld runs the tests of the calling package again with [RunOld], but for the calling one: all, or those that flags
// select ("-test.run=^TestHolders", "-test.skip=^TestRace").
func RunTestsOld(t *testing.T, flags ...string) {
	t.Helper()
	if os.Getenv(roleEnv) == roleOld {
		return
	}
	if raceEnabled {
		t.Skip("without the new system calls there is no other race")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], flags...)
	cmd.Env = append(os.Environ(), roleEnv+"="+roleOld)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := RunOld(cmd); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
}

// RunOld runs a command that has only the system calls of Linux 3.10, which is that of CentOS 7: all others fail with
// ENOSYS. The rest of the kernel is the one of this machine. Root's command has a mount namespace of its own, so that what it
// mounts is not in the way of other tests.
func RunOld(cmd *exec.Cmd) error {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	}
	return OnThread(func() error {
		if err := forbidNewCalls(); err != nil {
			return err
		}
		return cmd.Run()
	})
}

// OnThread calls f on a thread that ends with it, so that f may restrict it or take it elsewhere. It is not the first one:
// that would not end, and /proc/self shows it.
func OnThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks
		if unix.Gettid() == unix.Getpid() {
			result <- OnThread(f)
			runtime.UnlockOSThread()
			return
		}
		result <- f()
	}()
	return <-result
}

// forbidNewCalls restricts this thread and what it starts (seccomp(2)).
func forbidNewCalls() error {
	first, ok := firstNewCall[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("the system calls of %s are not known", runtime.GOARCH)
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number, of struct seccomp_data
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jt: 0, Jf: 1, K: first},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
