package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// enterHost makes this program one of the host if it runs in a container that shares the process table of the host and has files of
// its own, as in a pod with hostPID: it starts itself anew in the namespaces of process 1, with more arguments, and does not return.
// Otherwise it does nothing. An error says why the host could not be entered.
//
// The namespaces are those that nsenter(1) enters: of mounts, of the network, since the kubelet listens on the loopback device of
// the host, of the host name, and of control groups, without which the groups of other pods have relative paths.
func enterHost(more ...string) error {
	if !hasOtherRoot() {
		return nil
	}
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // namespaces are those of a thread; execve(2) leaves this one, and a failure ends it
		failed <- restartInHost(more)
	}()
	return <-failed
}

func restartInHost(more []string) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // setns(2): no other thread may share the root directory
		return fmt.Errorf("unshare: %w", err)
	}
	for _, ns := range []struct {
		name string
		kind int
	}{{"cgroup", unix.CLONE_NEWCGROUP}, {"uts", unix.CLONE_NEWUTS}, {"net", unix.CLONE_NEWNET}, {"mnt", unix.CLONE_NEWNS}} {
		fd, err := unix.Open("/proc/1/ns/"+ns.name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) { // cgroup: Linux before 4.6
			continue
		}
		if err == nil {
			err = unix.Setns(fd, ns.kind)
			_ = unix.Close(fd)
		}
		if err != nil {
			return fmt.Errorf("the %s namespace of process 1: %w", ns.name, err)
		}
	}
	return fmt.Errorf("start this program there: %w", syscall.Exec("/proc/self/exe", append(os.Args, more...), os.Environ()))
}

// hasOtherRoot says whether this is a container with the process table of the host: process 1 has other mounts, another root directory,
// and has started us. In a chroot of the host's root directory there is nothing to enter. In a pod that shares its own process
// table, process 1 is a container of that pod, and whoever started us is not in the table. No file system is accessed but the two
// roots, which are in memory.
func hasOtherRoot() bool {
	own, err1 := os.Readlink("/proc/self/ns/mnt")
	host, err2 := os.Readlink("/proc/1/ns/mnt")
	if err1 != nil || err2 != nil || own == host {
		return false
	}
	var here, there unix.Statx_t
	const flags = unix.AT_STATX_DONT_SYNC | unix.AT_NO_AUTOMOUNT
	if unix.Statx(unix.AT_FDCWD, "/", flags, unix.STATX_INO, &here) != nil || unix.Statx(unix.AT_FDCWD, "/proc/1/root/", flags, unix.STATX_INO, &there) != nil ||
		here.Ino == there.Ino && here.Dev_major == there.Dev_major && here.Dev_minor == there.Dev_minor {
		return false
	}
	pid := os.Getpid()
	for range 1000 {
		if pid <= 1 {
			break
		}
		pid = parentOf(pid)
	}
	return pid == 1
}

// parentOf is the fourth field of /proc/PID/stat, proc_pid_stat(5); 0 if it is not in this process table.
func parentOf(pid int) int {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // the name before may have anything in it
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
