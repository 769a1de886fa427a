package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ioprioLowest is the lowest level of the best-effort class (ioprio_set(2)); the idle class would starve on a busy disk.
const (
	ioprioLowest     = 2<<13 | 7
	ioprioWhoProcess = 1
)

// stepAside makes this process the last to get a CPU or a disk and the first to be killed for memory, and moves it away
// from a working directory that may be on a dead mount. What is refused is done without.
func stepAside() {
	_ = unix.Chdir("/")
	if fd, err := unix.Open("/proc/self/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
		_, _ = unix.Write(fd, []byte("1000"))
		_ = unix.Close(fd)
	}
	threads, err := os.ReadDir("/proc/self/task") // both priorities belong to the thread; new threads inherit them
	if err != nil {
		return
	}
	for _, t := range threads {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, 19)
			_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(tid), ioprioLowest)
		}
	}
}

// takeName makes this process known by its name, which is "exe" else: one that is stuck in the kernel for ever is found
// by people and by later runs.
func takeName() {
	if fd, err := unix.Open("/proc/self/comm", unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
		_, _ = unix.Write(fd, []byte("nodeforensics"))
		_ = unix.Close(fd)
	}
}

// protectDescriptors keeps descriptors that the shell left open from reaching our children: one that is stuck in the
// kernel would hold the other end of an ssh session's pipe for ever.
func protectDescriptors() {
	const closeOnExec = 1 << 2 // CLOSE_RANGE_CLOEXEC, Linux 5.11
	if _, _, errno := unix.Syscall(unix.SYS_CLOSE_RANGE, 3, ^uintptr(0)>>33, closeOnExec); errno == 0 {
		return
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// absolute makes a path absolute without touching the file system: getcwd(2) asks the kernel's own tables only.
func absolute(path string) string {
	if path == "" || path[0] == '/' {
		return path
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Getcwd(buf)
	if err != nil || n < 1 {
		return path
	}
	return string(buf[:n-1]) + "/" + path
}
