package procs

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
	// Meaning describes the wait in a sentence.
	Meaning string `json:"meaning,omitempty"`
}

// Killable says whether it is known that a SIGKILL ends the wait.
func (w Wait) Killable() bool { return w.Kill == killable }

// Unkillable says whether it is known that a SIGKILL takes effect only when the wait has ended.
func (w Wait) Unkillable() bool { return w.Kill == unkillable }

// WaitKind is the family of a kernel wait.
type WaitKind string

// The kinds of waits.
const (
	WaitUnknown   WaitKind = ""
	WaitServer    WaitKind = "server"     // a network file server has not answered
	WaitRetry     WaitKind = "retry"      // a network file server has answered that the client has to retry
	WaitFUSE      WaitKind = "fuse"       // a FUSE server in user space has not answered
	WaitAutofs    WaitKind = "autofs"     // the automount daemon has not answered
	WaitBlock     WaitKind = "block"      // a disk has not answered
	WaitJournal   WaitKind = "journal"    // a file system's log
	WaitFrozen    WaitKind = "frozen"     // a frozen file system
	WaitFSLock    WaitKind = "fs-lock"    // a lock of a directory, superblock or mount table that another thread has
	WaitFileLock  WaitKind = "file-lock"  // a file lock that another program may have: not a hang
	WaitMmapLock  WaitKind = "mmap-lock"  // the memory map of a process that is itself blocked
	WaitCgroup    WaitKind = "cgroup"     // the cgroup lock
	WaitFreezer   WaitKind = "freezer"    // a frozen cgroup
	WaitExit      WaitKind = "exit"       // the end of another process
	WaitWriteback WaitKind = "writeback"  // throttled by dirty pages: not a hang
	WaitOtherDisk WaitKind = "other-disk" // uninterruptible, reason not recognised
)
