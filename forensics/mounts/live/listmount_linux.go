package live

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// The requests that golang.org/x/sys does not name: include/uapi/linux/pidfd.h (Linux 6.11) and nsfs.h (6.12).
const (
	pidfdMountNamespace = 0xff03     // PIDFD_GET_MNT_NAMESPACE
	nextMountNamespace  = 0x8010b70b // NS_MNT_GET_NEXT
	prevMountNamespace  = 0x8010b70c // NS_MNT_GET_PREV
)

// namespacesBut lists all namespaces that are not among the known ones. The kernel has them in the order of their ids; the
// walk begins at the one of this program.
func namespacesBut(ctx context.Context, known map[uint64]bool) ([]namespaceID, error) {
	var found []namespaceID
	for _, way := range []uintptr{prevMountNamespace, nextMountNamespace} {
		at, err := ownNamespace()
		for err == nil {
			var n namespaceID
			if at, n.id, err = stepOn(at, way); err == nil {
				n.inode, n.owner, err = hostfs.OwnerOf(at)
				err = errors.Join(err, ctx.Err())
			}
			if err == nil && !known[n.inode] {
				found = append(found, n)
			}
		}
		if at >= 0 {
			_ = unix.Close(at)
		}
		if !errors.Is(err, unix.ENOENT) { // the end
			return nil, unsupported(err)
		}
	}
	return found, nil
}

// unsupported says in the words of package errors that the kernel does not know a call.
func unsupported(err error) error {
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.Join(errors.ErrUnsupported, err)
	}
	return err
}

// ownNamespace opens the mount namespace of this program without the link /proc/PID/ns/mnt.
func ownNamespace() (int, error) {
	self, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(self) }()
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(self), pidfdMountNamespace, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// stepOn opens the next namespace in one direction, closes the one before it, and returns the id by which listmount
// knows it.
func stepOn(at int, way uintptr) (int, uint64, error) {
	info := struct {
		size, mounts uint32
		id           uint64
	}{size: 16}
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(at), way, uintptr(unsafe.Pointer(&info)))
	_ = unix.Close(at)
	if errno != 0 {
		return -1, 0, errno
	}
	return int(fd), info.id, nil
}

// A mountRequest is struct mnt_id_req of include/uapi/linux/mount.h, in its size since Linux 6.11.
type mountRequest struct {
	size, _   uint32
	mount     uint64
	param     uint64 // listmount: the mount that was listed last; statmount: what is asked for
	namespace uint64
}

func (r *mountRequest) do(call uintptr, buf unsafe.Pointer, size int) (int, error) {
	r.size = uint32(unsafe.Sizeof(*r))
	n, _, errno := unix.Syscall6(call, uintptr(unsafe.Pointer(r)), uintptr(buf), uintptr(size), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// listMounts lists the mounts of a namespace, none if it has ended. One that is unmounted meanwhile is left out. When the
// context ends, or there are more than maxForeign has room for, the list is cut (nodefs.ErrTruncated).
func listMounts(ctx context.Context, namespace uint64) ([]mounts.Mount, error) {
	const root = ^uint64(0) // LSMT_ROOT
	list, last, size := []mounts.Mount{}, uint64(0), 0
	ids, buf := make([]uint64, 512), make([]byte, 32<<10) // aligned, as all of that size
	for {
		r := mountRequest{mount: root, param: last, namespace: namespace}
		n, err := r.do(unix.SYS_LISTMOUNT, unsafe.Pointer(&ids[0]), len(ids))
		switch {
		case errors.Is(err, unix.ENOENT):
			return nil, nil
		case err != nil || n == 0:
			return list, unsupported(err)
		}
		for _, id := range ids[:n] {
			if ctx.Err() != nil {
				return list, fmt.Errorf("%w: it takes too long", nodefs.ErrTruncated)
			}
			r := mountRequest{mount: id, param: statMask, namespace: namespace}
			if _, err := r.do(unix.SYS_STATMOUNT, unsafe.Pointer(&buf[0]), len(buf)); err == nil {
				m := statMount(buf)
				list = append(list, m)
				if size += int(unsafe.Sizeof(m)) + len(m.Root) + len(m.MountPoint) + len(m.Source); size > maxForeign {
					return list, fmt.Errorf("%w: too many mounts", nodefs.ErrTruncated)
				}
			}
		}
		last = ids[n-1]
	}
}

// What statmount is asked for: superblock, ids and propagation, where propagation comes from, root, mount point, type,
// subtype and source. A kernel leaves out what it does not know.
const (
	statMask    = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | statSubtype | statSource
	statSubtype = 0x100
	statSource  = 0x200
	statStrings = 512 // where they begin: the size of struct statmount
)

// statmount is the beginning of struct statmount. Texts are offsets behind its end.
type statmount struct {
	_, _                                    uint32
	given                                   uint64 // what of statMask was known
	major, minor                            uint32
	_                                       uint64
	_, fsType                               uint32
	_, _                                    uint64
	id, parent                              uint32 // those of mountinfo, and not the unique ones
	_, propagation, peers, master, received uint64
	root, point                             uint32
	_                                       uint64
	subtype, source                         uint32
}

// statMount understands what statmount has put into a buffer, which has room for the longest texts.
func statMount(buf []byte) mounts.Mount {
	s := (*statmount)(unsafe.Pointer(&buf[0]))
	text := func(at uint32) string { return unix.ByteSliceToString(buf[min(statStrings+int(at), len(buf)):]) }
	m := mounts.Mount{
		ID: int(s.id), ParentID: int(s.parent), Device: strconv.Itoa(int(s.major)) + ":" + strconv.Itoa(int(s.minor)),
		Root: text(s.root), MountPoint: text(s.point), FSType: text(s.fsType),
		Shared: int(s.peers), Master: int(s.master), PropagateFrom: int(s.received), Unbindable: s.propagation&unix.MS_UNBINDABLE != 0,
	}
	if s.given&statSubtype != 0 {
		m.FSType += "." + text(s.subtype)
	}
	if s.given&statSource != 0 {
		m.Source = text(s.source)
	}
	m.Class = mounts.ClassOf(m.FSType)
	return m
}
