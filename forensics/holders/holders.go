// Package holders says what keeps a mount busy, so that umount(2) answers EBUSY. Processes do, by a directory, a descriptor, a
// mapped file, a socket or an io_uring, as fuser(1) and lsof(8) list them. The kernel does, by what fuser does not
// see: other mounts, loop devices, swap files, NFS exports, sockets, interpreters and uprobes.
//
// The sources are proc_pid_fd(5), proc_pid_fdinfo(5), proc_pid_maps(5) and /proc/net/unix; this package parses their lines.
// Package procs/live reads them: Holders there finds the processes that use mounts in one pass, KernelHolders the users in the
// kernel.
package holders

import (
	"fmt"
)

// Kind says how a process uses a mount.
type Kind string

// The kinds of uses. Each of them makes umount(2) answer EBUSY in the namespace of the mount.
const (
	HoldCwd  Kind = "cwd"  // working directory
	HoldRoot Kind = "root" // root directory
	HoldExe  Kind = "exe"  // the program that runs
	HoldFD   Kind = "fd"   // an open file or directory
	HoldMap  Kind = "mmap" // a file in its memory, with or without an open descriptor
	// HoldSocket is an open unix socket that is bound to a name, or a connection that such a socket has accepted.
	HoldSocket Kind = "socket"
	// HoldRing is a file that is registered with an io_uring (io_uring_register(2)), and maybe open only through that. FD is the
	// descriptor of the io_uring. Recent kernels show the path of such files; for others (such as Linux 6.1) see [Queued].
	HoldRing Kind = "io_uring"
)

// A Holder is one use of one mount by one process: an open or mapped file, a directory, a socket.
type Holder struct {
	PID  int  `json:"pid"`
	Kind Kind `json:"kind"`
	// TID is the thread that has this for itself, after unshare(2) or setns(2); 0 for what all threads of the process share.
	TID int `json:"tid,omitempty"`
	// FD is the descriptor of a file, socket or io_uring, -1 for the other kinds.
	FD int `json:"fd"`
	// Path is what the kernel calls the file: a path in the mount namespace of the file, and not of the reader. On a
	// detached mount it begins at the root of that mount.
	Path string `json:"path"`
	// Deleted says that the file has no name any more, but still exists: its space is not free.
	Deleted bool `json:"deleted,omitempty"`
	// MountID is the mount, 0 where it is not known. Device is the superblock ("0:46"), "" where it is not known.
	MountID int    `json:"mount_id,omitempty"`
	Device  string `json:"device,omitempty"`
	// ByPath says that mount and superblock were derived from the path and nothing confirms them. The path misleads on a mount that was
	// later covered by another, or detached. It is set for the working directory, the root and the program; for files of an io_uring;
	// for sockets, because their path is the name that they were bound to, maybe by another process; and for descriptors before Linux
	// 3.15, which has no mnt_id in fdinfo. If all holders are asked for, it is also set for descriptors with a path that is unambiguous
	// by the mount table: see Keep of HoldersOptions in package procs/live.
	ByPath bool `json:"by_path,omitempty"`
	// Detached says that the mount is in no readable table. It was unmounted lazily and exists until its last user ends. Before
	// Linux 6.12, it may also belong to a namespace that only a descriptor or bind mount keeps alive.
	Detached bool `json:"detached,omitempty"`
	// MountNS is the mount namespace that the process is in, which need not be that of the mount; 0 if unknown.
	MountNS uint64 `json:"mount_ns,omitempty"`
}

// A FUSEDevice is an open /dev/fuse: its process serves a FUSE file system, or is about to.
type FUSEDevice struct {
	PID int `json:"pid"`
	FD  int `json:"fd"`
	// Connection is the number below /sys/fs/fuse/connections, which is the minor number of the file system's device;
	// 0 if the kernel does not show it (fuse_connection in fdinfo, Linux 6.16) and for one that has not mounted yet.
	Connection uint32 `json:"connection,omitempty"`
	MountNS    uint64 `json:"mount_ns,omitempty"`
}

// A NamespaceHold is an open descriptor of a mount namespace. It keeps the namespace and all its mounts alive, even without
// processes.
type NamespaceHold struct {
	PID       int    `json:"pid"`
	TID       int    `json:"tid,omitempty"` // as in [Holder]
	FD        int    `json:"fd"`
	Namespace uint64 `json:"namespace"`
}

// A Mark is what a process watches with inotify(7) or fanotify(7). It does not keep a mount busy, and ends with it.
type Mark struct {
	PID  int    `json:"pid"`
	FD   int    `json:"fd"`
	Kind string `json:"kind"` // "inotify" or "fanotify"
	// Device is the superblock that is watched, or MountID the mount, of which fanotify can watch all.
	Device  string `json:"device,omitempty"`
	MountID int    `json:"mount_id,omitempty"`
	// Count is how many marks there are on it.
	Count int `json:"count"`
}

// Queued says that the kernel has files open for a process on unknown mounts: those of
// descriptors that were passed on (SCM_RIGHTS, unix(7)) and wait in the queue of a socket, and those that are registered with
// an io_uring, where the kernel shows only their names.
type Queued struct {
	PID   int  `json:"pid"`
	FD    int  `json:"fd"` // of the socket or io_uring
	Count int  `json:"count"`
	Ring  bool `json:"io_uring,omitempty"`
}

// String says it in one line: "pid 4711 fd 7 /data/log".
func (h Holder) String() string {
	kind := string(h.Kind)
	if h.FD >= 0 {
		kind += fmt.Sprintf(" %d", h.FD)
	}
	who := fmt.Sprintf("pid %d", h.PID)
	if h.TID != 0 {
		who += fmt.Sprintf(" thread %d", h.TID)
	}
	return fmt.Sprintf("%s %s %s", who, kind, h.Path)
}

// A DeletedFile is a deleted file that a process has open, so that its space is not free.
type DeletedFile struct {
	PID     int    `json:"pid"`
	FD      int    `json:"fd"`
	Path    string `json:"path"` // the name that it had
	MountID int    `json:"mount_id,omitempty"`
	Device  string `json:"device,omitempty"`
	// Inode identifies the file: several of its descriptors may be open.
	Inode uint64 `json:"inode"`
	// AllocatedBytes is the space that is freed when the last process closes the file; SizeBytes is the length of the file.
	AllocatedBytes int64 `json:"allocated_bytes"`
	SizeBytes      int64 `json:"size_bytes"`
	// Written says that it is open for writing. On an overlay only such a file certainly uses space of the upper layer. One
	// that was only read may be in a layer of an image.
	Written bool `json:"open_for_writing,omitempty"`
}
