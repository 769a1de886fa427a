package live

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// A Reader reads the tables of many namespaces one after another, and makes little work of what they have in common. It
// is for one goroutine.
type Reader struct {
	tables  tableReader
	patient context.Context // until it has lost its patience with large stacks of mounts
	cancel  context.CancelFunc
}

// NewReader returns a Reader. It holds /proc open until it is closed.
func NewReader(fsys *hostfs.FS) (*Reader, error) {
	proc, err := fsys.OpenDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("mount namespaces: %w", err)
	}
	r := Reader{tables: tableReader{
		proc: proc, limit: maxTable, foreign: maxForeign, parser: mounts.NewParser(), single: holdsStill(proc), again: true,
	}}
	if link, err := proc.ReadLink("self"); err == nil {
		link, _ = proc.ReadLink(link + "/ns/mnt")
		r.tables.own, _ = parseNamespace(link)
	}
	r.patient, r.cancel = context.WithTimeout(context.Background(), readerPatience)
	return &r, nil
}

// limit is the time for one table.
func (r *Reader) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.patient.Err() != nil {
		return context.WithTimeout(ctx, hurriedTable)
	}
	return context.WithTimeout(ctx, slowTable)
}

// Close ends the use of the Reader.
func (r *Reader) Close() {
	r.cancel()
	_ = r.tables.proc.Close()
}

// Namespace returns the table of one namespace as one of the processes shows it; false if none of them is in it any more.
// What is said of [Namespaces] holds for it. The mounts of the table are valid until the next call.
func (r *Reader) Namespace(ctx context.Context, inode uint64, pids []int) (mounts.Table, bool, []error) {
	s := namespaceScan{reader: r, found: map[uint64]*namespace{}, only: inode}
	tables, errs := s.processes(ctx, pids)
	if len(tables) == 0 || tables[0].Namespace != inode {
		return mounts.Table{Mounts: []mounts.Mount{}}, false, errs
	}
	return tables[0], true, errs
}

// Outside returns those of some processes in one mount namespace that may see more of it than the process inside, which may
// be in a chroot: the first one with another first mount, and what follows. Where root directories are told in the chroot
// of this program, they are "/" inside and outside.
func (r *Reader) Outside(inside int, pids []int) []int {
	here := r.tables.first(inside)
	for i, pid := range pids {
		root, err := r.tables.proc.ReadLink(strconv.Itoa(pid) + "/root")
		if err == nil && root == "/" && r.tables.first(pid) != here {
			return pids[i:]
		}
	}
	return nil
}

// first is the id of the first mount that a process sees, "" if it has ended.
func (r *tableReader) first(pid int) string {
	text, err := r.proc.Head(make([]byte, 0, 4096), strconv.Itoa(pid)+"/mountinfo")
	if err != nil {
		return ""
	}
	id, _, _ := strings.Cut(string(text), " ")
	return id
}
