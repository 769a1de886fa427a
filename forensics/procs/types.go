// Package procs reads processes and threads from /proc: who is there, which threads wait in a file system, for how
// long, and on which path.
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
	// (CommandError says so; a command line that is too long is cut). [procslive.Collect] returns it as it is; secrets are masked
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
	// Identity is there for the processes that [procslive.Options].Identify chose; see [Process.OfNode].
	Identity *Identity `json:"identity,omitempty"`
	Kernel   bool      `json:"kernel,omitempty"` // a kernel thread
}

// A Thread is one that waits in a file system or in the block layer.
type Thread struct {
	PID   int    `json:"pid"`
	TID   int    `json:"tid"`
	Comm  string `json:"comm"`
	State string `json:"state"`
	// StartTicks is the start of the thread in clock ticks since boot: with TID it names one thread for ever.
	StartTicks uint64 `json:"start_ticks"`
	// WChan is the kernel function that it sleeps in; Stack the kernel stack, innermost first, function names only.
	// Both are empty where the kernel does not tell.
	WChan string   `json:"wchan,omitempty"`
	Stack []string `json:"stack"`
	// Wait says what kind of wait that is.
	Wait Wait `json:"wait"`
	// Syscall is the system call that it is in; absent where /proc/PID/task/TID/syscall cannot be read, or -1.
	Syscall *Syscall `json:"syscall,omitempty"`
	// Path is what the system call was asked about, absolute as that process sees it. PathFrom says how it is known:
	// "argument" (the string was read from the process's memory), "descriptor" (the link of the descriptor).
	Path     string `json:"path,omitempty"`
	PathFrom string `json:"path_from,omitempty"`
	// MountID and Device name the mount that Path lies on, in the mount namespace MountNS of that process; 0 and ""
	// where unknown. A kernel thread that writes a file system back has its Device, but no path.
	MountID int    `json:"mount_id,omitempty"`
	Device  string `json:"device,omitempty"`
	MountNS uint64 `json:"mount_ns,omitempty"`
	// WaitSeconds is how long it has waited, at least; WaitFrom says how that is known: "sched" (it has not run
	// since), "samples" (two readings were equal). Absent when nothing proves an age.
	WaitSeconds *float64 `json:"wait_seconds,omitempty"`
	WaitFrom    string   `json:"wait_from,omitempty"`
	// UptimeSeconds is when the thread was read first, in seconds since boot (/proc/uptime, which counts time suspended).
	UptimeSeconds float64 `json:"uptime_seconds,omitempty"`
	// Same is set when a second reading, SampledSeconds later, showed the same system call with the same arguments
	// and no context switch in between: the thread did not run. Gone: the thread had gone on or ended by then.
	Same           bool    `json:"same,omitempty"`
	Gone           bool    `json:"gone,omitempty"`
	SampledSeconds float64 `json:"sampled_seconds,omitempty"`
	// Switches are voluntary plus involuntary context switches at the first reading.
	Switches uint64 `json:"context_switches,omitempty"`
}

// Syscall is the content of /proc/PID/task/TID/syscall.
type Syscall struct {
	Number int    `json:"number"`
	Name   string `json:"name,omitempty"` // "" where the table of this architecture does not know it
	// Args are the six arguments as hexadecimal numbers ("0x63d87030c40"): JSON numbers cannot hold them.
	Args []string `json:"args"`
}

// Wait classifies a kernel wait.
type Wait struct {
	// Kind is one of the Wait constants.
	Kind WaitKind `json:"kind"`
	// FS is the file system that the stack names: "nfs", "ceph", "fuse", "cifs", "ext4", "xfs", ...; empty if none.
	FS string `json:"fs,omitempty"`
	// Function is the frame that decided it.
	Function string `json:"function,omitempty"`
	// Kill says what a SIGKILL does: "yes" (it ends the wait), "no" (not before the wait ends), "" unknown.
	Kill string `json:"kill,omitempty"`
	// Meaning is one sentence for a person.
	Meaning string `json:"meaning,omitempty"`
}

// WaitKind is the family of a kernel wait.
type WaitKind string

// The kinds of waits.
const (
	WaitUnknown   WaitKind = ""
	WaitServer    WaitKind = "server"     // a network file server has not answered
	WaitRetry     WaitKind = "retry"      // a network file server has answered that it is to be asked again
	WaitFUSE      WaitKind = "fuse"       // a FUSE server in user space has not answered
	WaitAutofs    WaitKind = "autofs"     // the automount daemon has not answered
	WaitBlock     WaitKind = "block"      // a disk has not answered
	WaitJournal   WaitKind = "journal"    // a file system's log
	WaitFrozen    WaitKind = "frozen"     // a frozen file system
	WaitFSLock    WaitKind = "fs-lock"    // a lock of a directory, superblock or mount table that somebody holds
	WaitFileLock  WaitKind = "file-lock"  // a lock that a program asked for, and that another may have: not a hang
	WaitMmapLock  WaitKind = "mmap-lock"  // the memory map of a process that is itself blocked
	WaitCgroup    WaitKind = "cgroup"     // the cgroup lock
	WaitFreezer   WaitKind = "freezer"    // a frozen cgroup
	WaitExit      WaitKind = "exit"       // the end of another process
	WaitWriteback WaitKind = "writeback"  // throttled by dirty pages: not a hang
	WaitOtherDisk WaitKind = "other-disk" // uninterruptible, reason not recognised
)
