package holders

// KernelUse says what part of the kernel uses a mount.
type KernelUse string

// The kernel's users of a mount. Those marked with EBUSY make umount(2) fail. The others keep the file system alive after
// the unmount, so that its disk or server stays in use.
const (
	UseMount   KernelUse = "mount"         // EBUSY: something is mounted on it or below it
	UseLoop    KernelUse = "loop"          // EBUSY: a file on it is the disk of a loop device
	UseSwap    KernelUse = "swap"          // EBUSY: a file on it is swap space
	UseExport  KernelUse = "nfs-export"    // EBUSY: nfsd exports it
	UseSocket  KernelUse = "unix-socket"   // EBUSY: a socket is bound to a name on it
	UseImage   KernelUse = "image"         // EBUSY: a file on it is mounted without a loop device (erofs, Linux 6.12)
	UseBinfmt  KernelUse = "binfmt"        // EBUSY: binfmt_misc has an interpreter on it open (flag F, Linux 4.8)
	UseUprobe  KernelUse = "uprobe"        // EBUSY: there is a uprobe event for a program or library on it
	UseBind    KernelUse = "same-fs"       // another mount of the same superblock
	UseOverlay KernelUse = "overlay-layer" // a directory on it is a layer of an overlay
	UseDevice  KernelUse = "block-device"  // device-mapper, md or multipath is on the same disk
	UseMark    KernelUse = "watch"         // inotify(7) or fanotify(7) marks of a process, which end with the mount
)

// A KernelUser is something in the kernel, not a process, that uses a mount.
type KernelUser struct {
	// MountID and Device are the mount that is used.
	MountID int       `json:"mount_id"`
	Device  string    `json:"device"`
	Use     KernelUse `json:"use"`
	// What is the user: a mount point, a loop device, a swap file, an exported directory, a socket's name, a file of
	// binfmt_misc, a uprobe event as "group/event".
	What string `json:"what"`
	// Socket is the inode number of a socket, as in the link of a descriptor ("socket:[12345]"); 0 for other users.
	Socket uint64 `json:"socket_inode,omitempty"`
	// UserMount is the mount that uses it, 0 for other users.
	UserMount int `json:"user_mount_id,omitempty"`
	// UsedBy is what uses a loop device in turn, and must be removed before it: mount points, and block devices on it.
	UsedBy []string `json:"used_by,omitempty"`
	// Blocks says that umount(2) of MountID answers EBUSY because of it.
	Blocks bool   `json:"blocks"`
	Detail string `json:"detail,omitempty"`
}

// KernelBlind says which users of mounts no file in /proc or /sys shows. It belongs to every list of kernel users.
const KernelBlind = "not visible from outside the kernel: passed descriptors in a socket's queue; unread fanotify events; " +
	"files of an io_uring with a closed descriptor; uprobes of perf or eBPF (end the tracer); FUSE passthrough; open files of kernel services; " +
	"sockets bound to a relative name; in other namespaces, sockets that no visible process has open. inotify and fanotify marks are shown, but do not keep a mount busy. " +
	"Loop devices, swap files, exports, interpreters and uprobes are known only by their path, which may be of another mount namespace"
