package procs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// HolderKind says by what a process holds a mount.
type HolderKind string

// The kinds of holds. Each of them makes umount(2) answer EBUSY in the namespace of the mount.
const (
	HoldCwd  HolderKind = "cwd"  // working directory
	HoldRoot HolderKind = "root" // root directory
	HoldExe  HolderKind = "exe"  // the program that runs
	HoldFD   HolderKind = "fd"   // an open file or directory
	HoldMap  HolderKind = "mmap" // a file in its memory, with or without an open descriptor
	// HoldSocket is an open unix socket that is bound to a name, or a connection that such a socket has accepted.
	HoldSocket HolderKind = "socket"
	// HoldRing is a file that is registered with an io_uring (io_uring_register(2)), open through that alone, perhaps; FD is the
	// descriptor of the io_uring. Recent kernels tell the path of those; for others (Linux 6.1 is one) see [Queued].
	HoldRing HolderKind = "io_uring"
)

// A Holder is one thing by which one process holds one mount.
type Holder struct {
	PID  int        `json:"pid"`
	Kind HolderKind `json:"kind"`
	// TID is the thread that has this for itself, after unshare(2) or setns(2); 0 for what all threads of the process share.
	TID int `json:"tid,omitempty"`
	// FD is the descriptor of a file, socket or io_uring, -1 for the other kinds.
	FD int `json:"fd"`
	// Path is what the kernel calls the file: a path in the mount namespace of the file, and not of the reader. On a
	// detached mount it begins at the root of that mount.
	Path string `json:"path"`
	// Deleted says that the name is gone, the file is not: its space is not free.
	Deleted bool `json:"deleted,omitempty"`
	// MountID is the mount, 0 where it is not known. Device is the superblock ("0:46"), "" where it is not known.
	MountID int    `json:"mount_id,omitempty"`
	Device  string `json:"device,omitempty"`
	// ByPath says that mount and superblock were concluded from the path and nothing confirms them: on a mount that was
	// covered by another since, or detached, the path misleads. So it is for the working directory, the root and the
	// program; for what an io_uring has; for sockets, whose path is what they were bound to by a process that may have been another; for descriptors before Linux 3.15, which has no mnt_id in fdinfo; and, where all holders are asked for, for
	// descriptors whose path leaves no doubt as far as the mount table shows: see [HoldersOptions].
	ByPath bool `json:"by_path,omitempty"`
	// Detached says that the mount is in no table that could be read: it was unmounted lazily and lives on through its
	// holders, or, before Linux 6.12, belongs to a namespace that only a descriptor or bind mount keeps alive.
	Detached bool `json:"detached,omitempty"`
	// MountNS is the mount namespace that the process is in, which need not be that of the mount; 0 if unknown.
	MountNS uint64 `json:"mount_ns,omitempty"`
}

// A FUSEDevice is an open /dev/fuse: its process serves a FUSE file system, or is about to.
type FUSEDevice struct {
	PID int `json:"pid"`
	FD  int `json:"fd"`
	// Connection is the number below /sys/fs/fuse/connections, which is the minor number of the file system's device;
	// 0 where the kernel does not tell (fuse_connection in fdinfo, Linux 6.16) and for one that has not mounted yet.
	Connection uint32 `json:"connection,omitempty"`
	MountNS    uint64 `json:"mount_ns,omitempty"`
}

// A NamespaceHold is an open descriptor of a mount namespace, which keeps that and all its mounts alive, also when no
// process is in it.
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

// Queued says that the kernel has files open for a process of which nothing tells on what mounts they are: those of
// descriptors that were passed on (SCM_RIGHTS, unix(7)) and wait in the queue of a socket, and those that are registered with
// an io_uring, where the kernel tells their names alone.
type Queued struct {
	PID   int  `json:"pid"`
	FD    int  `json:"fd"` // of the socket or io_uring
	Count int  `json:"count"`
	Ring  bool `json:"io_uring,omitempty"`
}

// HoldersOptions say what [Holders] looks for. The zero value finds everything.
type HoldersOptions struct {
	// Group remembers the reads that have not come back.
	Group *probe.Group
	// Self are processes that are left out, those of the examination.
	Self []int
	// Keep selects what is returned, when its mount is known; nil keeps everything. One call of Keep or Table ends before the
	// next begins.
	//
	// The mount id of every descriptor that may be kept is confirmed. Without Keep, that is left out for paths below a mount
	// point in this program's own namespace where nothing else is mounted on top or in the way, which takes half the time.
	Keep func(*Holder) bool
	// Table, if set, is given the mount table of each namespace that a process is in, one after another, after the
	// processes have been read, and then those of [mounts.Uninhabited], which have no PID. [Holders] itself does not keep
	// them: the mounts are valid until the function returns.
	Table func(mounts.Table)
	// Mounts, if set, says whether Keep can want anything of a mount, by its id and superblock; of its detached and deleted
	// files it need not. What lies on another one, as far as Keep leaves that to the path, is then not even remembered, which
	// on a machine with many open files is most of the work. A mount that nothing is wanted of before the processes are
	// read must not be wanted later, unless it is of another namespace than this program's own.
	Mounts func(id int, device string) bool
	// Queues remembers the sockets for [HoldersResult.AskQueues].
	Queues bool
	// Limits keep the work in bounds: Processes, Read and Lost count here.
	Limits Limits
}

// HoldersResult is what one pass over /proc showed.
type HoldersResult struct {
	// Holders are ordered by pid, threads after their process, then root, cwd, exe, descriptors, maps, io_urings and sockets.
	Holders []Holder
	// FUSE are the processes that serve FUSE file systems, and Namespaces those that hold mount namespaces by a
	// descriptor.
	FUSE       []FUSEDevice
	Namespaces []NamespaceHold
	// Marks are what is watched: of each descriptor one for each superblock or mount.
	Marks []Mark
	// Queued are the io_urings with files of unknown mounts and, if they were asked for, the sockets with descriptors in their
	// queue.
	Queued []Queued
	// Sockets are the inode numbers of the bound sockets that processes have open, whichever Keep has kept.
	Sockets []uint64
	// Bound are the bound sockets of the network namespaces that processes with sockets are in, by the text of the link ns/net.
	Bound map[string][]mounts.BoundSocket
	// Processes and Descriptors count what was looked at.
	Processes, Descriptors int
	// Problems say what could not be read, one error for each sort of trouble.
	Problems []error

	sockets []socketsOf // for AskQueues
}

// Holders finds every process that holds a mount, for all mounts of the machine in one pass over /proc.
//
// It reads the links of /proc/PID (cwd, root, exe, fd/N), /proc/PID/fdinfo/N for the mount id of what is a file, and
// /proc/PID/maps under package probe, since that needs a lock that a blocked process may hold. It never follows a link and
// asks no file system: it is quick also when those that are held do not answer.
//
// A thread that has directories, descriptors or a mount namespace of its own (unshare(2) with CLONE_FS or CLONE_FILES,
// setns(2)) is looked at like a process; of descriptors alone that is seen where kcmp(2) tells it. So is a thread that lives
// on where the first has ended. What the kernel itself holds is not seen: see [mounts.KernelHolders].
//
// The error is not nil only if /proc cannot be listed. Other trouble is in the Problems of the result.
func Holders(ctx context.Context, fsys *hostfs.FS, opt HoldersOptions) (HoldersResult, error) {
	result := HoldersResult{
		Holders: []Holder{}, FUSE: []FUSEDevice{}, Namespaces: []NamespaceHold{}, Marks: []Mark{}, Sockets: []uint64{}, Problems: []error{},
	}
	lister, err := newCollector(ctx, fsys, Options{Limits: opt.Limits})
	if err != nil {
		return result, err
	}
	defer func() { _ = lister.proc.Close() }()
	var own *plainPaths
	var reading sync.WaitGroup
	reading.Go(func() { own = newPlainPaths(ctx, fsys) })
	pids, err := lister.pids()
	if reading.Wait(); err != nil {
		return result, err
	}
	pids = slices.DeleteFunc(pids, func(pid int) bool { return slices.Contains(opt.Self, pid) })
	var problems problems
	problems.take(&lister.problems)
	r := resolver{ctx: ctx, fsys: fsys, group: opt.Group, c: lister, problems: &problems, tell: opt.Table, keep: opt.Keep, own: own.namespace, before: own}
	if opt.Keep == nil {
		r.room = make([]Holder, 0, len(pids)*usualHolds)
	}
	members := map[uint64][]int{}
	bound, scanners := scan(ctx, fsys, opt, pids, &own)
	r.before = own
	for _, s := range scanners {
		problems.take(&s.c.problems)
		r.found = append(r.found, s.found...)
		result.FUSE = append(result.FUSE, s.fuse...)
		result.Namespaces = append(result.Namespaces, s.pins...)
		result.Marks = append(result.Marks, s.marks...)
		result.Queued = append(result.Queued, s.queued...)
		result.Processes += s.processes
		result.Descriptors += s.descriptors
		r.denied = append(r.denied, s.denied...)
		for ns, pids := range s.members {
			members[ns] = append(members[ns], pids...)
		}
	}
	if ctx.Err() != nil {
		problems.add("processes not read", ctx.Err())
	}
	sorting.Stable(r.found, func(a, b *holdings) int { return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.tid, b.tid)) })
	result.Sockets, result.Bound = append(result.Sockets, bound.hold(r.found)...), bound.lists
	if opt.Queues {
		result.sockets = socketsIn(r.found)
	}
	r.resolve(members)
	result.Problems = problems.list()
	result.Holders = r.kept()
	sortDescriptors(&result)
	return result, nil
}

// scan reads all processes. What was left out by the mount table as it was before has to be what is left out by the table as
// it is now; otherwise all are read again, and nothing is left out.
func scan(ctx context.Context, fsys *hostfs.FS, opt HoldersOptions, pids []int, own **plainPaths) (*boundSockets, []*scanner) {
	bound := newBoundSockets(fsys)
	(*own).leaveOut(opt.Mounts)
	scanners := scanAll(ctx, fsys, opt, pids, *own, bound)
	if opt.Mounts == nil || ctx.Err() != nil {
		return bound, scanners
	}
	now := (*own).again(ctx, fsys)
	if now == *own {
		return bound, scanners
	}
	now.leaveOut(opt.Mounts)
	missed := slices.ContainsFunc(scanners, func(s *scanner) bool { return s.misses(now) })
	if *own = now; !missed {
		return bound, scanners
	}
	now.leaveOut(nil)
	bound = newBoundSockets(fsys)
	return bound, scanAll(ctx, fsys, opt, pids, now, bound)
}

// usualHolds is how many holds a process may have. Memory for the result that is there from the beginning is not written
// before it is needed, and spares the garbage collector most of its work: that goes by how much there is.
const usualHolds = 64

func sortDescriptors(r *HoldersResult) {
	sorting.Stable(r.FUSE, func(a, b FUSEDevice) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.FD, b.FD)) })
	sorting.Stable(r.Marks, func(a, b Mark) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.FD, b.FD)) })
	sorting.Stable(r.Namespaces, func(a, b NamespaceHold) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.FD, b.FD)) })
}

// take adds the problems of another pass.
func (p *problems) take(other *problems) {
	for _, what := range other.order {
		before := p.count[what]
		p.add(what, other.first[what])
		p.count[what] = before + other.count[what]
	}
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
