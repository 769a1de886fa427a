package logs

// The kernel.
const (
	kindKernelBoot          Kind = "kernel-boot"            // `Linux version 6.1.0 …`, the first line of a kernel; Reason
	KindKernelHungTask      Kind = "kernel-hung-task"       // `INFO: task X:PID blocked for more than N seconds`; Process, Number N
	KindKernelNFSDown       Kind = "kernel-nfs-down"        // `nfs: server S not responding, still trying`; Server
	KindKernelNFSTimeout    Kind = "kernel-nfs-timeout"     // `nfs: server S not responding, timed out`; Server
	KindKernelNFSBack       Kind = "kernel-nfs-back"        // `nfs: server S OK`; Server
	kindNoMount             Kind = "no-mount"               // an empty list of mounts, that internal/kubectl has read; Reason is what was looked for
	KindKernelCephDown      Kind = "kernel-ceph-down"       // `libceph: mds0 … socket closed`, `ceph: mds0 hung`, `osdN down`; Server, Reason
	KindKernelCephRejected  Kind = "kernel-ceph-rejected"   // session blocklisted, rejected, reconnect denied; does not recover; Server, Reason
	KindKernelCephBack      Kind = "kernel-ceph-back"       // `ceph: mds0 came back`, `reconnect success`, `libceph: osdN up`; Server
	KindKernelCIFSDown      Kind = "kernel-cifs-down"       // `CIFS: … has not responded in N seconds`; Server, Number N
	KindKernelIOError       Kind = "kernel-io-error"        // `blk_update_request: I/O error, dev X`, `Buffer I/O error on dev X`; Device, Reason
	KindKernelIOTimeout     Kind = "kernel-io-timeout"      // `nvme nvme0: I/O N QID M timeout`, `timing out command`; Device
	KindKernelDeviceReset   Kind = "kernel-device-reset"    // `resetting controller`, `hard resetting link`; Device
	KindKernelDeviceOffline Kind = "kernel-device-offline"  // `rejecting I/O to offline device`, `remaining active paths: 0`, iSCSI recovery timed out; Device
	KindKernelFSError       Kind = "kernel-fs-error"        // `EXT4-fs error`, `JBD2: Detected IO errors`, XFS log I/O error or corruption; Device, Reason
	KindKernelFSShutdown    Kind = "kernel-fs-shutdown"     // `XFS (X): Filesystem has been shut down`, `xfs_do_force_shutdown`; Device
	KindKernelFSReadOnly    Kind = "kernel-fs-read-only"    // `Remounting filesystem read-only`; Device
	kindKernelDiskRemoved   Kind = "kernel-disk-removed"    // `sd 7:0:0:1: [sde] Synchronizing SCSI cache`; Device, and its place as Path
	kindKernelDiskAttached  Kind = "kernel-disk-attached"   // `sd 8:0:0:1: [sde] Attached SCSI disk`; Device, and its place as Path
	kindKernelPathsBack     Kind = "kernel-paths-back"      // `mpatha: remaining active paths: 2`, `connection1:0 is operational after recovery`; Device
	KindKernelFSMounted     Kind = "kernel-fs-mounted"      // `EXT4-fs (X): mounted filesystem`, `XFS (X): Mounting V5 Filesystem`; Device
	kindKernelOOM           Kind = "kernel-oom"             // `Out of memory: Kill(ed) process`, CONSTRAINT_NONE; Process, PodUID
	kindKernelOOMCgroup     Kind = "kernel-oom-cgroup"      // `Memory cgroup out of memory`, `oom-kill:constraint=CONSTRAINT_MEMCG`; Process, PodUID, Path is the cgroup
	kindKernelOOMInvoked    Kind = "kernel-oom-invoked"     // `P invoked oom-killer`: the kill is further below; Process
	kindKernelPIDs          Kind = "kernel-pids-exhausted"  // `cgroup: fork rejected by pids controller in P`; PodUID, Path
	kindKernelMemcg         Kind = "kernel-memcg-exhausted" // `SLUB: Unable to allocate memory … cache: …(N:kubepods…)`
	kindKernelLockup        Kind = "kernel-lockup"          // soft lockup, RCU stall, NMI watchdog; Process, Number seconds
	kindKernelStallLength   Kind = "kernel-stall-length"    // `(detected by 2, t=21003 jiffies, g=…`, of the RCU stall above; Number seconds, at least
	kindKernelStallTicks    Kind = "kernel-stall-ticks"     // `5-...: (14749 ticks this GP) idle=…`, of the RCU stall above; Number
	kindKernelPanic         Kind = "kernel-panic"           // `Kernel panic - not syncing: …`; Reason
	kindKernelNetdev        Kind = "kernel-netdev-held"     // `unregister_netdevice: waiting for X to become free`; Device
	kindKernelConntrack     Kind = "kernel-conntrack-full"  // `nf_conntrack: table full, dropping packet`
	kindKernelTCPMemory     Kind = "kernel-tcp-memory"      // `TCP: out of memory -- consider tuning tcp_mem`
	kindKernelNeighbours    Kind = "kernel-neighbours-full" // `neighbour: arp_cache: neighbor table overflow!`
	KindKernelThinPool      Kind = "kernel-thin-pool-full"  // device mapper: out of data space; Device
)

// kernelMessages are those of the kernel about tasks, servers, disks, file systems and memory. All match anywhere: lines begin
// with a time, a CPU, a device or nothing.
var kernelMessages = []message{
	{
		kind: kindKernelBoot, severity: SeverityRoutine, words: "the machine was started",
		rules: []rule{{has: "Linux version ", err: " #", fill: boot}},
	},
	{
		kind: KindKernelHungTask, lane: LaneKernel, words: "a task is blocked",
		rules: []rule{
			{has: " for more than ", err: " blocked", find: "blocked for more|in I/O wait for more", fill: hungTask},
			{start: "INFO: task ", has: " blocked for more", find: "blocked for more", fill: hungTask}, // a line that was cut
		},
	},
	{
		kind: KindKernelNFSTimeout, lane: LaneKernel, words: "NFS server does not respond, calls fail",
		rules: []rule{
			{has: "nfs: server ", err: " not responding, timed out", fill: nfsServer},
			{has: "failed on NFSv4 server ", err: " with error", fill: nfsServer},
		},
	},
	{
		kind: KindKernelNFSDown, lane: LaneKernel, words: "NFS server does not respond",
		rules: []rule{
			{has: "nfs: server ", err: " not responding", fill: nfsServer},
			{has: "lockd: server ", err: " not responding", fill: nfsServer},
		},
	},
	{
		kind: KindKernelNFSBack, lane: LaneKernel, words: "NFS server responds again",
		rules: []rule{
			{has: "nfs: server ", err: " OK", fill: nfsServer},
			{has: "lockd: server ", err: " OK", fill: nfsServer},
		},
	},
	{
		kind: kindNoMount, severity: SeverityRoutine, words: "nothing of this is mounted", byReason: true,
		rules: []rule{{event: "NoMount"}},
	},
	{
		kind: KindKernelCephRejected, lane: LaneKernel,
		rules: []rule{
			{has: "ceph", err: "blacklisted", find: cephLines, fill: ceph},
			{has: "ceph", err: "blocklisted", find: cephLines, fill: ceph},
			{has: "ceph", err: "rejected session", find: cephLines, fill: ceph},
			{has: "ceph", err: "reconnect denied", find: cephLines, fill: ceph},
		},
	},
	{
		kind: KindKernelCephDown, lane: LaneKernel,
		rules: []rule{
			{has: "ceph", err: "socket closed", find: cephLines, fill: ceph},
			{has: "ceph", err: "socket error", find: cephLines, fill: ceph},
			{has: "ceph", err: "connect error", find: cephLines, fill: ceph},
			{has: "ceph", err: "connection reset", find: cephLines, fill: ceph},
			{has: "ceph", err: "closed our session", find: cephLines, fill: ceph},
			{has: "ceph", err: " hung", find: cephLines, fill: ceph},
			{has: "ceph", err: "session lost", find: cephLines, fill: ceph},
			{has: "ceph", err: " down", find: cephLines, fill: ceph},
			{has: "ceph", err: "caps stale", find: cephLines, fill: ceph},
			{has: "ceph", err: " full", find: cephLines, fill: ceph},
		},
	},
	{
		kind: KindKernelCephBack, lane: LaneKernel,
		rules: []rule{
			{has: "ceph", err: "came back", find: cephLines, fill: ceph},
			{has: "ceph", err: "reconnect success", find: cephLines, fill: ceph},
			{has: "ceph", err: "session established", find: cephLines, fill: ceph},
			{has: "ceph", err: "caps renewed", find: cephLines, fill: ceph},
			{has: "ceph", err: " up", find: cephLines, fill: ceph},
		},
	},
	{
		kind: KindKernelCIFSDown, lane: LaneKernel,
		rules: []rule{
			{has: "CIFS", err: " has not responded in ", fill: cifs},
			{has: "CIFS", err: " sends on sock ", fill: cifsStuck},
		},
	},
	{
		kind: KindKernelDeviceOffline, lane: LaneKernel, words: "an offline device",
		rules: []rule{
			{has: "rejecting I/O to offline device", fill: device},
			{has: "device offline error, dev ", fill: device}, // since Linux 5.17
			{has: "rejecting I/O to dead device", fill: device},
			{has: "Add. Sense: Logical unit not supported", fill: device}, // the storage has it no more
			{has: "remaining active paths: 0", fill: device},
			{has: "Device offlined", fill: device},
			{has: "session recovery timed out", fill: device},
			{has: "nvme", err: "Removing after probe failure", find: "Removing after probe failure", fill: device},
			{has: "nvme", err: "evice after reset failure", find: "evice after reset failure", fill: device},
			{has: "ata", err: ".00: disable", find: ".00: disable", fill: device},
			{has: "quorum( yes -> no )", fill: device},
		},
	},
	{
		kind: KindKernelIOTimeout, lane: LaneKernel,
		rules: []rule{
			{has: " QID ", err: " timeout", find: " timeout, abort| timeout, reset| timeout, compl| timeout, disab", fill: device},
			{has: "timing out command", fill: device},
			{has: "hostbyte=DID_TIME_OUT", fill: device},
			{has: "task abort on host", fill: device},
			{has: " commands to complete for scsi", fill: device}, // drivers/scsi/megaraid
			{has: "virtio", err: "] I/O timeout", find: "] I/O timeout", fill: device},
		},
	},
	{
		kind: KindKernelDeviceReset, lane: LaneKernel,
		rules: []rule{
			{has: "nvme", err: "controller is down", fill: device},
			{has: "nvme", err: "resetting controller", fill: device},
			{has: "hard resetting link", fill: device},
			{has: "esetting device", fill: device},
			{has: "nvme", err: "Device not ready; aborting", find: "Device not ready; aborting", fill: device},
			{has: "nvme", err: "starting error recovery", find: "starting error recovery", fill: device}, // over a network
			{has: "nvme", err: "Failed reconnect attempt", find: "Failed reconnect attempt", fill: device},
			{has: "nvme", err: "failed to connect socket: ", find: "failed to connect socket: ", fill: device},
			{has: "detected conn error (", fill: device},
			{has: " checker reports path is down", fill: pathDown},   // multipathd
			{has: "Kernel reported iSCSI connection ", fill: device}, // iscsid
			{has: "secs expired, recv timeout", fill: device},
			{has: "encountered watch error: ", fill: device},
		},
	},
	{
		kind: KindKernelFSReadOnly, lane: LaneKernel, words: "a read-only remount",
		rules: []rule{
			{has: "emounting filesystem read-only", fill: fileSystem},
			{has: "BTRFS", err: "forced readonly", find: "forced readonly", fill: fileSystem},
		},
	},
	{
		kind: KindKernelFSMounted, lane: LaneKernel, words: "a file system was mounted",
		rules: []rule{
			{has: "EXT4-fs (", err: "): mounted filesystem", fill: mounted},
			{has: "XFS (", err: "): Mounting V", fill: mounted},
			{has: "BTRFS info (device ", err: "): first mount of filesystem", fill: mounted},
		},
	},
	{
		kind: kindKernelDiskRemoved, severity: SeverityRoutine, words: "a disk was removed",
		rules: []rule{{has: "] Synchronizing SCSI cache", fill: scsiDisk}},
	},
	{
		kind: kindKernelDiskAttached, severity: SeverityRoutine, words: "a disk was attached",
		rules: []rule{{has: "] Attached SCSI disk", fill: scsiDisk}},
	},
	{
		kind: kindKernelPathsBack, severity: SeverityRoutine, words: "a disk has paths again",
		rules: []rule{
			{has: ": remaining active paths: ", fill: pathsBack},
			{has: "connection", err: " is operational after recovery", find: " is operational after recovery", fill: device},
			{has: "nvme", err: "Successfully reconnected", find: "Successfully reconnected", fill: device},
		},
	},
	{
		kind: KindKernelFSShutdown, lane: LaneKernel, words: "a file system shutdown",
		rules: []rule{
			{has: "XFS (", err: "ilesystem has been shut down", fill: fileSystem},
			{has: "XFS (", err: "xfs_do_force_shutdown", fill: fileSystem},
			{has: "XFS (", err: "hutting down filesystem", fill: fileSystem},
			{has: "XFS (", err: "Please unmount the filesystem", fill: fileSystem},
		},
	},
	{
		kind: KindKernelFSError, lane: LaneKernel, words: "a file system error",
		rules: []rule{
			{has: "XFS (", err: "I/O error", find: ioErrors, fill: fileSystem},
			{has: "XFS (", err: "orruption", find: "orruption ", fill: fileSystem},
			{has: "EXT4-fs error", fill: fileSystem},
			{has: "overlayfs: failed to get redirect (-5)", fill: overlayFS},                                                // EIO, of the file system below
			{has: "EXT4-fs (", err: "error count since last fsck: ", find: "error count since last fsck", fill: fileSystem}, // each day
			{has: "JBD2: ", err: "Detected IO errors", fill: jbd2},
			{has: "JBD2: ", err: "I/O error", find: ioErrors, fill: jbd2},
			{has: "Aborting journal on device", fill: fileSystem},
			{has: "ext4_end_bio", err: "I/O error ", find: "ext4_end_bio", fill: fileSystem},
			{has: "EXT4-fs (", err: "block allocation failed", find: "block allocation failed", fill: fileSystem},
			{has: "EXT4-fs (", err: "failed to convert unwritten", find: "failed to convert unwritten", fill: fileSystem},
			{has: "EXT4-fs (", err: "I/O error to superblock", find: "I/O error to superblock", fill: fileSystem},
			{has: "EXT4-fs (", err: "I/O error while writing", find: "I/O error while writing", fill: fileSystem},
			{has: "EXT4-fs (", err: "error loading journal", find: "error loading journal", fill: fileSystem},
			{has: "EXT4-fs (", err: "ext4_check_descriptors", find: "ext4_check_descriptors", fill: fileSystem},
			{has: "XFS (", err: "log mount failed", find: "log mount failed", fill: fileSystem},
			{has: "XFS (", err: "log mount/recovery failed", find: "log mount/recovery failed", fill: fileSystem},
			{has: "EXT4-fs (", err: "of unsupported optional features", find: "unsupported optional features", fill: fileSystem},
			{has: "XFS (", err: "unknown incompatible features", find: "unknown incompatible features", fill: fileSystem},
			{has: "XFS (", err: "Attempted to mount read-only compatible", find: "Attempted to mount read-only compatible", fill: fileSystem},
			{has: "XFS (", err: "writeback error on", find: "writeback error on", fill: fileSystem},
			{has: "XFS (", err: "Filesystem has duplicate UUID", find: "Filesystem has duplicate UUID", fill: fileSystem},
			{has: "BTRFS error (device", err: " errs: ", fill: fileSystem},
			{has: "BTRFS critical (device", fill: fileSystem},
			{has: "BTRFS: error (device", fill: fileSystem},
			{has: "BTRFS warning (device", err: "csum failed", fill: fileSystem},
		},
	},
	{
		kind: KindKernelIOError, lane: LaneKernel, words: "an I/O error",
		rules: []rule{
			{has: "I/O error", err: " dev", find: ioErrors, fill: device},
			{has: "attempt to access beyond end of device", fill: device}, // the next line has the name
			{has: "critical medium error", fill: device},
			{has: "critical nexus error", fill: device},
			{has: "critical space allocation error", fill: device},
			{has: "nrecovered read error", fill: device},
			{has: "hostbyte=DID_NO_CONNECT", err: "FAILED Result", fill: device},
			{has: "hostbyte=DID_BAD_TARGET", err: "FAILED Result", fill: device},
			{has: "nvme", err: "I/O Error (sct", find: "I/O Error (sct", fill: device},
			{has: "ata", err: ": failed command: ", find: ": failed command: ", fill: device},
			{has: "ata", err: ": error: { UNC ", find: ": error: { UNC ", fill: device}, // drivers/ata/libata-eh.c
			{has: "Disk failure on ", err: "disabling device", fill: device},
			{has: "rbd: rbd", err: " result -", find: " at objno ", fill: device},
			{has: "rbd: rbd", err: "failed to lock header", find: "failed to lock header", fill: device},
		},
	},
	{
		kind: kindKernelOOMCgroup, lane: LaneKernel, words: "a container is out of memory, a process was killed",
		rules: []rule{
			{has: "killed as a result of limit of", fill: oomLimit},
			{has: "Memory cgroup out of memory", fill: oom},
			{has: "oom-kill:constraint=CONSTRAINT_MEMCG", fill: oom},
		},
	},
	{
		kind: kindKernelOOM, lane: LaneKernel, words: "the node is out of memory, a process was killed",
		rules: []rule{
			{event: "SystemOOM", fill: eventOfOOM},
			{has: "oom-kill:constraint=", fill: oom},
			{has: "Out of memory: Kill", fill: oom},
		},
	},
	{
		kind: kindKernelOOMInvoked, lane: LaneKernel, words: "a process needed memory, and there was none",
		rules: []rule{
			{has: " invoked oom-killer: gfp_mask=", fill: oomInvoked},
			{has: " tgid total_vm      rss ", fill: tableOfTasks},
			{has: "Memory cgroup stats for /kubepods", fill: memcgStats},
		},
	},
	{
		kind: kindKernelPIDs, lane: LaneKernel, words: "a cgroup has no process ids left",
		rules: []rule{{has: "fork rejected by pids controller", fill: pidsController}},
	},
	{
		kind: kindKernelMemcg, lane: LaneKernel, words: "memory cgroup could not be created",
		rules: []rule{{has: "SLUB: Unable to allocate memory", fill: wholeMessage}},
	},
	{
		kind: kindKernelLockup, lane: LaneKernel, words: "CPU lockup or stall",
		rules: []rule{
			{has: "BUG: soft lockup", err: " stuck for ", fill: lockup},
			{has: "soft lockup - CPU#", fill: lockup},
			{has: "self-detected stall", fill: lockup},
			{has: "detected stalls on CPUs", fill: lockup},
			{has: "detected expedited stalls", fill: lockup},
			{has: "hard LOCKUP on cpu", fill: lockup},
			{has: "BUG: workqueue lockup", fill: lockup},
			{has: "kthread starved for ", fill: lockup},
		},
	},
	{
		kind: kindKernelStallLength, severity: SeverityRoutine, words: "how long a CPU had been stalled",
		rules: []rule{
			{has: "(detected by ", err: " jiffies", fill: stallLength},
			{has: "(t=", err: " jiffies g=", find: " jiffies g=", fill: stallLength},
		},
	},
	{
		kind: kindKernelStallTicks, severity: SeverityRoutine, words: "how many ticks a stalled CPU has counted",
		rules: []rule{{has: " ticks this GP)", fill: stallTicks}},
	},
	{
		kind: kindKernelPanic, lane: LaneKernel, words: "the kernel panicked",
		rules: []rule{{has: "Kernel panic - not syncing: ", fill: wholeMessage}},
	},
	{
		kind: kindKernelNetdev, lane: LaneKernel, words: "network device is not released",
		rules: []rule{{has: "to become free. Usage count", fill: netdev}},
	},
	{
		kind: kindKernelTCPMemory, lane: LaneKernel, words: "memory limit of TCP is reached",
		rules: []rule{{has: "TCP: out of memory -- consider tuning tcp_mem", fill: wholeMessage}},
	},
	{
		kind: kindKernelConntrack, lane: LaneKernel, words: "connection tracking table is full",
		rules: []rule{{has: "table full, dropping packet"}},
	},
	{
		kind: kindKernelNeighbours, lane: LaneKernel, words: "neighbour table is full",
		rules: []rule{ // net/core/neighbour.c
			{has: "neighbor table overflow"}, // 4.19 and later, of arp_cache and ndisc_cache
			{has: "eighbour table overflow"}, // before
		},
	},
	{
		kind: KindKernelThinPool, lane: LaneKernel, words: "thin pool is full", deep: true,
		rules: []rule{
			{has: "out-of-data-space", fill: device},
			{has: "out of data space", fill: device},
			{has: "switching pool to read-only mode", fill: device},
			{has: "space map metadata: unable to allocate", fill: device},
		},
	},
}

// cephLines and ioErrors are what lines are found by whose other words are too short or too frequent.
const (
	cephLines = "libceph: mon|libceph: osd|libceph: mds|ceph: mds0|]: mds0 hung|reconnect denied|rejected session"
	ioErrors  = "I/O error, |I/O error on|log I/O error|metadata I/O error"
)
