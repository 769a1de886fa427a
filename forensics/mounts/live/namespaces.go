package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"syscall"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// maxProcesses bounds the list of /proc: no kernel gives out more process ids.
const maxProcesses = 1 << 22

// Namespaces returns one table for each mount namespace that one of the processes is in, in the order in which the
// processes show them; all processes in the order of their ids if pids is nil. A table is read through the first
// process whose root is the root of its namespace; only if there is none through one that has been chrooted, and then
// lacks what is mounted elsewhere.
//
// Since Linux 5.8 each table is read once, which skips no mount; before, until two readings agree. Of each but the table of
// the calling process some 10,000 mounts are kept, and more where tables are alike; the error says where there were more.
//
// A namespace that no process is in, but an open descriptor or a bind mount of its ns/mnt file keeps alive, is not among
// them: see [Uninhabited].
// Processes that end meanwhile are passed over. Those that may not be read make one error together, wrapping
// fs.ErrPermission; other errors are those of [Read], and so are the remarks on what may block.
func Namespaces(ctx context.Context, fsys *hostfs.FS, pids []int) ([]mounts.Table, []error) {
	r, err := NewReader(fsys)
	if err != nil {
		return []mounts.Table{}, []error{err}
	}
	defer r.Close()
	r.tables.again = false
	s := namespaceScan{reader: r, found: map[uint64]*namespace{}}
	if pids == nil {
		if pids, err = processes(r.tables.proc); err != nil {
			s.errs = append(s.errs, fmt.Errorf("mount namespaces: %w", err))
		}
	}
	return s.processes(ctx, pids)
}

func (s *namespaceScan) processes(ctx context.Context, pids []int) ([]mounts.Table, []error) {
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			s.errs = append(s.errs, fmt.Errorf("mount namespaces: not all processes were read: %w", err))
			break
		}
		s.process(ctx, pid)
	}
	return s.tables(ctx)
}

// processes lists the process ids in /proc. With an error the list may be incomplete.
func processes(proc *hostfs.Dir) ([]int, error) {
	entries, err := proc.Entries(maxProcesses)
	pids := make([]int, 0, len(entries))
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, err
}

// A namespaceScan goes through processes and finds the namespaces that they are in.
type namespaceScan struct {
	reader *Reader
	found  map[uint64]*namespace
	only   uint64 // the namespace that is wanted, 0 for all
	order  []*namespace
	errs   []error

	denied    int // processes that may not be read
	deniedErr error
}

type namespace struct {
	inode    uint64
	table    *mounts.Table
	err      error // of the table
	chrooted []int // processes that see a part of it
}

func (s *namespaceScan) process(ctx context.Context, pid int) {
	name := strconv.Itoa(pid)
	link, err := s.reader.tables.proc.ReadLink(name + "/ns/mnt")
	if err != nil {
		s.unreadable(err)
		return
	}
	inode, err := parseNamespace(link)
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("process %d: %w", pid, err))
		return
	}
	if s.only != 0 && inode != s.only {
		return
	}
	ns := s.found[inode]
	if ns == nil {
		ns = &namespace{inode: inode}
		s.found[inode] = ns
		s.order = append(s.order, ns)
	}
	if ns.table != nil {
		return
	}
	if root, err := s.reader.tables.proc.ReadLink(name + "/root"); err != nil || root != "/" {
		ns.chrooted = append(ns.chrooted, pid)
		return
	}
	ns.read(ctx, s.reader, pid)
}

// unreadable counts the processes that may not be read. One that has ended has no namespace.
func (s *namespaceScan) unreadable(err error) {
	switch {
	case ended(err):
	case errors.Is(err, fs.ErrPermission):
		s.denied++
		if s.deniedErr == nil {
			s.deniedErr = err
		}
	default:
		s.errs = append(s.errs, fmt.Errorf("mount namespaces: %w", err))
	}
}

// read takes the table from a process, unless that has ended or gone elsewhere: then the next one may have it.
func (n *namespace) read(ctx context.Context, r *Reader, pid int) {
	ctx, cancel := r.limit(ctx)
	defer cancel()
	table, err := r.tables.read(ctx, pid)
	if ended(err) || table.Namespace != n.inode {
		return
	}
	n.table, n.err = &table, err
}

func (s *namespaceScan) tables(ctx context.Context) ([]mounts.Table, []error) {
	tables := []mounts.Table{}
	for _, ns := range s.order {
		for _, pid := range ns.chrooted {
			if ns.table != nil {
				break
			}
			ns.read(ctx, s.reader, pid)
		}
		if ns.table == nil {
			continue // it ended with its last process
		}
		tables = append(tables, *ns.table)
		if ns.err != nil {
			s.errs = append(s.errs, ns.err)
		}
	}
	if s.denied > 0 {
		s.errs = append(s.errs, fmt.Errorf("mount namespaces of %d processes: %w", s.denied, s.deniedErr))
	}
	return tables, s.errs
}

// ended says whether an error means that a process is no more, or a zombie: that has no mount namespace left.
func ended(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EINVAL)
}
