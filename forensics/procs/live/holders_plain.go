package live

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// plainPaths knows the paths that leave no doubt of the mount that an open file is on. For all others the kernel is asked
// for the mount id, which is as much work as everything else.
//
// A path misleads where mounts are stacked: the file may have been opened before. It does where a directory is
// mounted on itself, where the same names are below. A file on a mount that was detached has a path that begins at that
// mount's root, and so seems to lie on the first of all mounts. Processes in other namespaces may have files from the one
// that they came from. What is left is a path below a mount point of its own in this program's namespace.
//
// It rests on the table as it was; [resolver] looks again at what has changed since.
type plainPaths struct {
	namespace uint64
	mounts    []mounts.Mount
	index     *mounts.Index
	plain     map[int]bool // by mount id

	// What is left out, see [HoldersOptions].Mounts: by id, the mounts of which nothing is wanted, and those among them where
	// that holds for what they lie on, too, so that a file that was opened before they were made is no exception. By
	// superblock, those without a mount that is wanted.
	unwanted, dull map[int]bool
	unwantedDevice map[string]bool
}

// noNamespace is the number of none.
const noNamespace = ^uint64(0)

// newPlainPaths takes the table of the process's own namespace, which it reads if it is not given. What cannot be read leaves every path
// in doubt.
func newPlainPaths(ctx context.Context, fsys *hostfs.FS, own *mounts.Table) *plainPaths {
	p := &plainPaths{namespace: noNamespace}
	if own != nil && fsys.Live() && isWhole(own) {
		p.take(own)
	} else if table, ok := ownTable(ctx, fsys); ok {
		p.take(&table)
	}
	return p
}

func isWhole(t *mounts.Table) bool { return t.Root == "/" && t.Namespace != 0 }

// ownTable reads the table of this program's own namespace. It is false if that is not whole.
func ownTable(ctx context.Context, fsys *hostfs.FS) (mounts.Table, bool) {
	pid := ownPID()
	if !fsys.Live() || pid == 0 {
		return mounts.Table{}, false
	}
	tables, errs := mountslive.Namespaces(ctx, fsys, []int{pid})
	if len(tables) != 1 || len(errs) > 0 || !isWhole(&tables[0]) {
		return mounts.Table{}, false
	}
	return tables[0], true
}

// again is what newPlainPaths makes now: the same, if nothing has changed.
func (p *plainPaths) again(ctx context.Context, fsys *hostfs.FS) *plainPaths {
	table, ok := ownTable(ctx, fsys)
	if ok && table.Namespace == p.namespace && slices.Equal(table.Mounts, p.mounts) || !ok && p.index == nil {
		return p
	}
	now := &plainPaths{namespace: noNamespace}
	if ok {
		now.take(&table)
	}
	return now
}

// leaveOut chooses what is left out: nothing, if wants is nil.
func (p *plainPaths) leaveOut(wants func(id int, device string) bool) {
	p.unwanted, p.dull, p.unwantedDevice = map[int]bool{}, map[int]bool{}, map[string]bool{}
	if wants == nil {
		return
	}
	for i := range p.mounts {
		m := &p.mounts[i]
		p.unwanted[m.ID] = !wants(m.ID, m.Device)
		before, known := p.unwantedDevice[m.Device]
		p.unwantedDevice[m.Device] = p.unwanted[m.ID] && (before || !known)
	}
	for i := range p.mounts {
		id := p.mounts[i].ID
		p.dull[id] = p.plain[id] && p.unwanted[id] &&
			!slices.ContainsFunc(p.index.Ancestors(id), func(m mounts.Mount) bool { return !p.unwanted[m.ID] })
	}
}

// leavesOut says whether a hold of some kind that has nothing but a path is left out: of the program's own namespace, or of a
// superblock if that is known.
func (p *plainPaths) leavesOut(at *named, kind uint8, device string) bool {
	if at.deleted || !at.asSpelled || p.index == nil {
		return false
	}
	p.find(at)
	if kind == atFD {
		return at.plain && p.dull[int(at.id)]
	}
	return p.unwanted[int(at.id)] && (kind != atMap || p.unwantedDevice[device])
}

// take learns a table, which must not change any more.
func (p *plainPaths) take(t *mounts.Table) {
	p.namespace, p.mounts, p.index, p.plain = t.Namespace, t.Mounts, t.Index(), make(map[int]bool, len(t.Mounts))
	for i := range t.Mounts {
		m := &t.Mounts[i]
		p.plain[m.ID] = m.MountPoint != "/" && !p.ontoItself(m)
	}
	for i := range t.Mounts {
		m := &t.Mounts[i]
		if !p.index.Visible(m.ID) {
			if over, ok := p.index.Covering(m.MountPoint); ok {
				p.plain[over.ID] = false
			}
			p.plain[m.ID] = false
		}
	}
}

// ontoItself says that what is mounted is the directory that it is mounted on, as by mount --bind DIR DIR.
func (p *plainPaths) ontoItself(m *mounts.Mount) bool {
	parent, ok := p.index.ByID(m.ParentID)
	if !ok || parent.Device != m.Device {
		return false
	}
	below := strings.TrimPrefix(m.MountPoint, strings.TrimSuffix(parent.MountPoint, "/"))
	return path.Join(parent.Root, below) == path.Clean(m.Root)
}

// has says whether a mount is in the table.
func (p *plainPaths) has(id int32) bool {
	_, ok := p.index.ByID(int(id))
	return ok
}

// leaveNoDoubt says whether a path is plain, and notes its mount.
func (p *plainPaths) leaveNoDoubt(at *named) bool {
	p.find(at)
	return p.plain[int(at.id)]
}

// find notes the mount that a path is on, once.
func (p *plainPaths) find(at *named) {
	if at.by == p || p.index == nil {
		return
	}
	at.by, at.id, at.super = p, 0, ""
	if m, ok := p.index.Covering(at.path); ok {
		at.id, at.super = int32(m.ID), m.Device
	}
}
