package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/procnet"
)

// KernelHolders lists what in the kernel uses the mounts of a table for which want is true (all if it is nil): other
// mounts, loop devices, swap files, NFS exports, overlays, bound sockets, interpreters and uprobes, and what is stacked on
// the same disk.
//
// It reads /sys/block, /proc/swaps, /proc/fs/nfsd/exports and /proc/net/unix, and binfmt_misc and tracefs where they are
// mounted; it touches no other file system. What
// is absent there is not used; other errors are returned together with what was found.
//
// The kernel tells files there by their path, and nothing confirms it: a file on a mount that was covered or detached since,
// or in a container, may seem to be on another one. Not every file system can have swap space: swapon(2) answers EINVAL on
// tmpfs, overlay and FUSE.
//
// bound are the sockets of this program's network namespace, if somebody has read them already; otherwise it is nil.
func KernelHolders(ctx context.Context, fsys *hostfs.FS, table *mounts.Table, want func(*mounts.Mount) bool, bound []procnet.BoundSocket) ([]holders.KernelUser, []error) {
	u := users{ctx: ctx, fsys: fsys, table: table, index: table.Index(), want: want, bound: bound, found: []holders.KernelUser{}}
	u.mounts()
	u.overlays()
	u.registered()
	for _, read := range []func() error{u.loops, u.swaps, u.exports, u.sockets, u.disks} {
		if err := ctx.Err(); err != nil {
			u.errs = append(u.errs, fmt.Errorf("kernel users of mounts: %w", err))
			break
		}
		if err := read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			u.errs = append(u.errs, fmt.Errorf("kernel users of mounts: %w", err))
		}
	}
	return u.found, u.errs
}

type users struct {
	ctx   context.Context
	fsys  *hostfs.FS
	table *mounts.Table
	index *mounts.Index
	want  func(*mounts.Mount) bool
	bound []procnet.BoundSocket
	found []holders.KernelUser
	errs  []error
}

func (u *users) add(m mounts.Mount, user holders.KernelUser) {
	if u.want != nil && !u.want(&m) {
		return
	}
	user.MountID, user.Device = m.ID, m.Device
	u.found = append(u.found, user)
}

// path adds a user of a file that is known by its path.
func (u *users) path(name string, user holders.KernelUser) {
	if !strings.HasPrefix(name, "/") {
		return
	}
	if m, ok := u.index.Covering(name); ok {
		u.add(m, user)
	}
}

// mounts finds those that are mounted on another, and others of the same superblock.
func (u *users) mounts() {
	same, order := map[string][]int{}, []string{}
	for i := range u.table.Mounts {
		m := &u.table.Mounts[i]
		if same[m.Device] == nil {
			order = append(order, m.Device)
		}
		same[m.Device] = append(same[m.Device], i)
		if parent, ok := u.index.ByID(m.ParentID); ok && parent.ID != m.ID {
			user := holders.KernelUser{Use: holders.UseMount, What: m.MountPoint, UserMount: m.ID, Blocks: true, Detail: "mounted below it"}
			if parent.MountPoint == m.MountPoint {
				user.Detail = "mounted over it"
			}
			u.add(parent, user)
		}
	}
	for _, device := range order {
		list := same[device]
		if len(list) > maxSame {
			list = list[:maxSame]
		}
		for _, i := range list {
			for _, j := range list {
				if m, other := u.table.Mounts[i], u.table.Mounts[j]; i != j && m.Class != mounts.ClassPseudo {
					u.add(m, holders.KernelUser{Use: holders.UseBind, What: other.MountPoint, UserMount: other.ID, Detail: "is another mount of the same file system and keeps that in use"})
				}
			}
		}
	}
}

// overlays finds the layers of overlays. An overlay keeps a private copy of the mount of each layer, so that umount works
// and the file system stays. Layers with a relative path are relative to the working directory of who mounted, and lost.
func (u *users) overlays() {
	for i := range u.table.Mounts {
		m := &u.table.Mounts[i]
		for _, layer := range m.Layers() {
			u.path(layer.Dir, holders.KernelUser{Use: holders.UseOverlay, What: m.MountPoint, UserMount: m.ID, Detail: layer.Option + " " + layer.Dir})
		}
	}
}

const (
	maxDisks    = 1 << 16
	maxPathFile = 8 << 10
	maxSame     = 64 // mounts of one superblock that are compared with each other
	maxList     = 16 << 20
)
