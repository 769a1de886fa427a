package main

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTheCollectorGivesWay has a process that makes itself the last to get a CPU or a disk: on a node in trouble, an examination must not take
// them from the pods. It is a process of its own, since nothing takes that back.
func TestTheCollectorGivesWay(t *testing.T) {
	const own = "NODEFORENSICS_TEST_GIVES_WAY"
	if os.Getenv(own) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), own+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	lowerPriority()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		nice, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
		if err != nil {
			t.Fatal(err)
		}
		class, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, ioprioWhoProcess, uintptr(tid), 0)
		if lowest := 20 - 19; nice != lowest || errno == 0 && class != ioprioLowest { // getpriority(2) returns 20 less the nice value
			t.Errorf("thread %d: priority %d, want %d; of disks %#x, %v", tid, nice, lowest, class, errno)
		}
	}
}

// TestDescriptorsOfTheShellReachNoChild has a pipe that the shell left open, as that of an ssh session: a child that is stuck in the kernel would
// keep the session open for ever. Before Linux 5.11, and in strict containers, close_range(2) is not to be had.
func TestDescriptorsOfTheShellReachNoChild(t *testing.T) {
	const own, inherited = "NODEFORENSICS_TEST_INHERITS", 3
	if os.Getenv(own) != "" {
		protectDescriptors()
		if flags, err := unix.FcntlInt(inherited, unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("flags of the descriptor: %#x, %v", flags, err)
		}
		return
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	for name, refused := range map[string][]int{"any kernel": nil, "without close_range": {unix.SYS_CLOSE_RANGE}} {
		t.Run(name, func(t *testing.T) {
			cmd := refusing(t, exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDescriptorsOfTheShellReachNoChild$"), refused...)
			cmd.Env = append(cmd.Env, own+"=1")
			cmd.ExtraFiles = []*os.File{w}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
