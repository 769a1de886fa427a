package live

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// firstPIDs is the namespace of process ids in which all processes are seen: PROC_PID_INIT_INO, include/linux/proc_ns.h.
const firstPIDs = "pid:[4026531836]"

var errNotAll = errors.New("this program sees only the processes of its own PID namespace")

// Uninhabited calls visit with the mount table of each namespace of the machine that no process is in: a bind mount of its ns/mnt
// file or a descriptor keeps that alive, perhaps one in the queue of a socket that nothing in /proc shows. inhabited are the
// inode numbers of those that have processes, and need not be complete: what turns out to have one is left out.
//
// The kernel lists namespaces (ioctl_nsfs(2): NS_MNT_GET_NEXT) and mounts (listmount(2), statmount(2) with the id of a
// namespace) from its own memory: no namespace is entered, no path looked up and no file system asked. The mounts lack Options
// and SuperOptions, and before Linux 6.13 their source. While a namespace is identified it is kept open, for microseconds. If
// its last other user ends in this time, this program ends the namespace, and may have to wait for a server. That is done under
// package probe, in the group.
//
// It needs Linux 6.12, root in the user namespace of the machine and a view of all processes. Otherwise the error is that of the
// call that is missing (ENOTTY, EINVAL, ENOSYS) or denied, or says that not all processes are seen.
func Uninhabited(ctx context.Context, fsys *hostfs.FS, group *probe.Group, inhabited map[uint64]bool, visit func(mounts.Table)) error {
	if !fsys.Live() {
		return nil // a disk has no namespaces
	}
	proc, err := fsys.OpenDir("/proc")
	if err != nil {
		return fmt.Errorf(unlistedNamespaces+": %w", err)
	}
	defer func() { _ = proc.Close() }()
	if err := seesAll(proc); err != nil {
		return fmt.Errorf(unlistedNamespaces+": %w", err)
	}
	found, err := probe.Do(ctx, group, unlistedNamespaces, func() ([]namespaceID, error) { return namespacesBut(ctx, inhabited) })
	if err != nil {
		return fmt.Errorf(unlistedNamespaces+": %w", err)
	}
	if len(found) == 0 {
		return nil
	}
	var cut error
	now := inhabitants(proc)
	for _, ns := range found {
		if now[ns.inode] {
			continue // it was made, or entered, meanwhile
		}
		list, err := probe.Do(ctx, group, unlistedNamespaces, func() ([]mounts.Mount, error) {
			ctx, cancel := context.WithTimeout(ctx, slowTable)
			defer cancel()
			return listMounts(ctx, ns.id)
		})
		if errors.Is(err, nodefs.ErrTruncated) {
			cut, err = err, nil
		}
		if err != nil {
			return fmt.Errorf(unlistedNamespaces+": %w", err)
		}
		if len(list) > 0 { // otherwise it has ended
			visit(mounts.Table{Namespace: ns.inode, Owner: ns.owner, Root: "/", Mounts: list})
		}
	}
	if cut != nil {
		return fmt.Errorf(unlistedNamespaces+": %w", cut)
	}
	return nil
}

const unlistedNamespaces = "mount namespaces without processes" // the key of calls

// A namespaceID is a mount namespace as /proc numbers it and as listmount(2) does, and the user namespace that owns it.
type namespaceID struct{ inode, id, owner uint64 }

func seesAll(proc *hostfs.Dir) error {
	pid, err := self(proc)
	if err != nil {
		return err
	}
	link, err := proc.ReadLink(strconv.Itoa(pid) + "/ns/pid")
	if err == nil && link != firstPIDs {
		err = errNotAll
	}
	return err
}

// inhabitants lists the namespaces that processes and their threads are in now.
func inhabitants(proc *hostfs.Dir) map[uint64]bool {
	seen := map[uint64]bool{}
	pids, _ := processes(proc)
	for _, pid := range pids {
		name := strconv.Itoa(pid)
		if link, err := proc.ReadLink(name + "/ns/mnt"); err == nil {
			inode, _ := parseNamespace(link)
			seen[inode] = true
		}
		if info, err := proc.Lstat(name + "/task"); err != nil || info.Nlink == 3 {
			continue // "." and "..", and one thread
		}
		tasks, err := proc.OpenDir(name + "/task")
		if err != nil {
			continue
		}
		tids, _ := processes(tasks)
		for _, tid := range tids {
			if link, err := tasks.ReadLink(strconv.Itoa(tid) + "/ns/mnt"); err == nil {
				inode, _ := parseNamespace(link)
				seen[inode] = true
			}
		}
		_ = tasks.Close()
	}
	return seen
}
