// Package procs says what processes and threads are and do, from what the kernel tells of them: which threads wait in a
// file system, for what, and whether SIGKILL ends that; which pod and container a process belongs to; and whether it is
// the daemon of the node that it claims to be.
//
// The sources are the files of /proc/PID and /proc/PID/task/TID, proc(5): stat, status, wchan, stack, syscall, cgroup.
// This package parses and judges them; package live below it reads those of a machine.
//
// Threads are selected by what the kernel says they wait for (wchan, stack) and by the system call that they are in,
// never by state D: a thread that waits for a FUSE server sleeps in state S.
package procs

import "time"

// A Process is one entry of /proc.
type Process struct {
	PID  int `json:"pid"`
	PPID int `json:"ppid"`
	// StartTicks is the start in clock ticks since boot (field 22 of stat, proc_pid_stat(5)): with PID it names one
	// process for as long as the machine is up. Started is the same as a time.
	StartTicks uint64    `json:"start_ticks"`
	Started    time.Time `json:"started"`
	Comm       string    `json:"comm"`
	State      string    `json:"state"`
	UID        int       `json:"uid"` // effective, as ps shows it; -1 if unknown
	Threads    int       `json:"threads"`
	// Command is the command line; empty for kernel threads and zombies, and where reading it could not finish
	// (CommandError says so; a command line that is too long is cut). It is read as it is; secrets are masked
	// before it becomes evidence.
	Command      []string `json:"command"`
	CommandError string   `json:"command_error,omitempty"`
	// Cgroup is the path in the unified hierarchy, or in the first v1 hierarchy that names a pod.
	Cgroup string `json:"cgroup,omitempty"`
	// PodUID and ContainerID come from the cgroup path; static pods have 32 hex digits without dashes.
	PodUID      string `json:"pod_uid,omitempty"`
	ContainerID string `json:"container_id,omitempty"`
	// MountNS is the inode of the mount namespace, 0 where it could not be read.
	MountNS uint64 `json:"mount_ns,omitempty"`
	// UserNS is the inode of the user namespace, 0 where it could not be read.
	UserNS uint64 `json:"user_ns,omitempty"`
	// Identity is there for the processes that were examined in detail; see [Process.OfNode].
	Identity *Identity `json:"identity,omitempty"`
	Kernel   bool      `json:"kernel,omitempty"` // a kernel thread
	// Alike is how many more processes differ from this one in nothing but the pid, if a text has only counted them. Their PID is negative: the
	// kernel's are not in the text.
	Alike int `json:"alike,omitempty"`
}
