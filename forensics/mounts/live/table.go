package live

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// A tableReader reads one table after another.
type tableReader struct {
	proc    *hostfs.Dir
	limit   int64  // of the text of one table, in bytes
	own     uint64 // the namespace of which all is kept; all are if foreign is 0
	foreign int    // what is kept of a table, in bytes
	parser  *mounts.Parser
	mounts  []mounts.Mount // what the next table is put into
	again   bool           // use it for the one after that, too
	// single is set where one reading is enough: since Linux 5.8 (9f6c61f96f2d, "proc/mounts: add cursor") one that is made
	// in several steps skips no mount when others come or go.
	single bool
}

// holdsStill says whether the kernel is one where a single reading skips nothing. An unknown one is not.
func holdsStill(proc *hostfs.Dir) bool {
	text, err := proc.ReadFile("sys/kernel/osrelease", 256)
	if err != nil {
		return false
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(text), "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 5 || major == 5 && minor >= 8
}

// A reading is a table, read once. Two of the same text have the same sum.
type reading struct {
	namespace uint64
	root      string
	mounts    []mounts.Mount
	sum       uint64
	bad       []error // lines that were not understood
	cut       error   // why it is not all of the table
}

func (a reading) equal(b reading) bool {
	return a.namespace == b.namespace && a.root == b.root && a.sum == b.sum
}

func (r *tableReader) read(ctx context.Context, pid int) (mounts.Table, error) {
	table := mounts.Table{PID: pid, Mounts: []mounts.Mount{}}
	// The descriptor refers to this process, also if its number is given to another.
	process, err := r.proc.OpenDir(strconv.Itoa(pid))
	if err != nil {
		return table, fmt.Errorf("mount table of process %d: %w", pid, err)
	}
	defer func() { _ = process.Close() }()
	var last reading
	if r.single {
		last, err = r.once(ctx, process)
	} else {
		last, err = stable(ctx, func() (reading, error) { return r.once(ctx, process) })
	}
	table.Namespace, table.Root = last.namespace, last.root
	if last.mounts != nil {
		table.Mounts = last.mounts
	}
	if r.again {
		r.mounts = last.mounts
	}
	if err = errors.Join(append([]error{err, last.cut}, last.bad...)...); err != nil {
		return table, fmt.Errorf("mount table of process %d: %w", pid, err)
	}
	return table, nil
}

// stable takes readings until two in a row agree. It returns the last one that succeeded, with any error.
func stable(ctx context.Context, read func() (reading, error)) (reading, error) {
	last, err := read()
	if err != nil || last.cut != nil {
		return last, err
	}
	for range maxReadings - 1 {
		if err := ctx.Err(); err != nil {
			return last, errors.Join(errUnstable, err)
		}
		next, err := read()
		if err != nil {
			return last, errors.Join(errUnstable, err)
		}
		if next.cut != nil && last.cut == nil {
			return last, errUnstable
		}
		if next.equal(last) {
			return next, nil
		}
		last = next
	}
	return last, errUnstable
}

// once takes one reading.
func (r *tableReader) once(ctx context.Context, process *hostfs.Dir) (reading, error) {
	var now reading
	now.namespace, _ = namespaceOf(process)
	now.root, _ = process.ReadLink("root")
	file, err := process.OpenFile("mountinfo")
	if err != nil {
		return now, err
	}
	defer func() { _ = file.Close() }()
	room, limit := r.mounts[:0], 0
	r.mounts = nil
	if now.namespace != r.own {
		limit = r.foreign
	}
	text := tableText{ctx: ctx, file: file, left: r.limit}
	text.sum.SetSeed(tableSeed)
	now.mounts, now.bad, err = r.parser.Parse(&text, room, limit)
	now.sum = text.sum.Sum64()
	if errors.Is(err, nodefs.ErrTruncated) {
		now.cut, err = err, nil
	}
	return now, err
}

// tableSeed makes sums of texts that can be compared. Nobody can make two tables of the same sum, not knowing it.
var tableSeed = maphash.MakeSeed()

// A tableText reads the text of a table within limits and sums it up.
type tableText struct {
	ctx  context.Context
	file io.Reader
	left int64
	sum  maphash.Hash
}

// Read implements [io.Reader]. With the error nodefs.ErrTruncated, there is more.
func (t *tableText) Read(p []byte) (int, error) {
	if t.ctx.Err() != nil {
		return 0, fmt.Errorf("%w: it takes too long", nodefs.ErrTruncated)
	}
	n, err := t.file.Read(p)
	if int64(n) > t.left {
		n, err = int(t.left), nodefs.ErrTruncated
	}
	t.left -= int64(n)
	_, _ = t.sum.Write(p[:n]) // never fails
	return n, err
}

// namespaceOf returns the inode number in the link ns/mnt of a process, "mnt:[4026531841]".
func namespaceOf(process *hostfs.Dir) (uint64, error) {
	link, err := process.ReadLink("ns/mnt")
	if err != nil {
		return 0, err
	}
	return parseNamespace(link)
}

func parseNamespace(link string) (uint64, error) {
	text, ok := strings.CutPrefix(link, "mnt:[")
	text, closed := strings.CutSuffix(text, "]")
	if !ok || !closed {
		return 0, fmt.Errorf("link %q names no mount namespace", link)
	}
	return strconv.ParseUint(text, 10, 64)
}
