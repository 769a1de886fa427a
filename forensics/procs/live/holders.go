package live

import (
	"cmp"
	"context"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/procnet"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// HoldersOptions say what [Holders] looks for. The zero value finds everything.
type HoldersOptions struct {
	// Group remembers the reads that have not returned.
	Group *probe.Group
	// Self are processes that are left out, those of the examination.
	Self []int
	// Keep selects what is returned, when its mount is known; nil keeps everything. One call of Keep or Table ends before the
	// next begins.
	//
	// The mount id of every descriptor that may be kept is confirmed. Without Keep, that is left out for paths below a mount
	// point in this program's own namespace where nothing else is mounted on top or in the way, which takes half the time.
	Keep func(*holders.Holder) bool
	// Table, if set, is given the mount table of each namespace that a process is in, one after another, after the
	// processes have been read, and then those of Uninhabited of package mounts/live, which have no PID. [Holders] itself does not keep
	// them: the mounts are valid until the function returns.
	Table func(mounts.Table)
	// Mounts, if set, says whether Keep can want anything of a mount, by its id and superblock; of its detached and deleted
	// files it need not. What is on another one, as far as Keep leaves that to the path, is then not even remembered, which
	// on a machine with many open files is most of the work. A mount that nothing is wanted of before the processes are
	// read must not be wanted later, unless it is of another namespace than this program's own.
	Mounts func(id int, device string) bool
	// Own, if set, is the mount table that this program sees, read a moment ago; it is read otherwise.
	Own *mounts.Table
	// Read, if set, is called when the processes have been read, before the first call of Keep or Table.
	Read func()
	// Queues remembers the sockets for [HoldersResult.AskQueues].
	Queues bool
	// Limits keep the work in bounds: Processes, Read and Lost count here.
	Limits Limits
}

// HoldersResult is what one pass over /proc showed.
type HoldersResult struct {
	// Holders are ordered by pid, threads after their process, then root, cwd, exe, descriptors, maps, io_urings and sockets.
	Holders []holders.Holder
	// FUSE are the processes that serve FUSE file systems, and Namespaces those that hold mount namespaces by a
	// descriptor.
	FUSE       []holders.FUSEDevice
	Namespaces []holders.NamespaceHold
	// Marks are what is watched: of each descriptor one for each superblock or mount.
	Marks []holders.Mark
	// Queued are the io_urings with files of unknown mounts and, if they were asked for, the sockets with descriptors in their
	// queue.
	Queued []holders.Queued
	// Sockets are the inode numbers of the bound sockets that processes have open, whichever Keep has kept.
	Sockets []uint64
	// Bound are the bound sockets of the network namespaces that processes with sockets are in, by the text of the link ns/net.
	Bound map[string][]procnet.BoundSocket
	// Processes and Descriptors count what was read.
	Processes, Descriptors int
	// Problems say what could not be read, one error for each sort of trouble.
	Problems []error

	sockets []socketsOf // for AskQueues
}

// Holders finds every process that uses a mount, for all mounts of the machine in one pass over /proc.
//
// It reads the links of /proc/PID (cwd, root, exe, fd/N), /proc/PID/fdinfo/N for the mount id of what is a file, and
// /proc/PID/maps under package probe, because that needs a lock that a blocked process may hold. It never follows a link and
// touches no file system, so it is fast even if the file systems in use do not respond.
//
// A thread that has directories, descriptors or a mount namespace of its own (unshare(2) with CLONE_FS or CLONE_FILES,
// setns(2)) is read like a process; descriptors of its own are only noticed where kcmp(2) shows them. So is a thread that
// still runs although the first has ended. Users in the kernel itself are not listed: see [KernelHolders].
//
// The error is not nil only if /proc cannot be listed. Other trouble is in the Problems of the result.
func Holders(ctx context.Context, fsys *hostfs.FS, opt HoldersOptions) (HoldersResult, error) {
	result := HoldersResult{
		Holders: []holders.Holder{}, FUSE: []holders.FUSEDevice{}, Namespaces: []holders.NamespaceHold{}, Marks: []holders.Mark{}, Sockets: []uint64{}, Problems: []error{},
	}
	lister, err := newCollector(ctx, fsys, Options{Limits: opt.Limits})
	if err != nil {
		return result, err
	}
	defer func() { _ = lister.proc.Close() }()
	pids, err := lister.pids()
	if err != nil {
		return result, err
	}
	own := newPlainPaths(ctx, fsys, opt.Own)
	pids = sorting.Delete(pids, func(pid int) bool { return slices.Contains(opt.Self, pid) })
	var problems problems
	problems.take(&lister.problems)
	r := resolver{ctx: ctx, fsys: fsys, group: opt.Group, c: lister, problems: &problems, tell: opt.Table, keep: opt.Keep, own: own.namespace, before: own}
	if opt.Keep == nil {
		r.room = make([]holders.Holder, 0, len(pids)*usualHolds)
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
	if opt.Read != nil {
		opt.Read()
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
	sorting.Stable(r.FUSE, func(a, b holders.FUSEDevice) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.FD, b.FD)) })
	sorting.Stable(r.Marks, func(a, b holders.Mark) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.FD, b.FD)) })
	sorting.Stable(r.Namespaces, func(a, b holders.NamespaceHold) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.FD, b.FD))
	})
}
