// Package hostfs reads files of a host, which may be this live machine or the mounted disk of a dead one, without
// trusting what it finds there.
//
// The directories that matter to an examination of a kubelet are written by containers: they hold symbolic links that
// lead out of the examined root, FIFOs that block any opener, files without end, and mount points of servers
// that no longer answer. So every access is rooted and bounded, and opens nothing but regular files and directories. The
// one exception is named by its caller and reachable on the live machine only: [FS.OpenKernelLog].
//
//   - [FS] looks paths up as the host itself would: symbolic links are followed, absolute ones restart at the root, and
//     nothing leads out of the root. It crosses mount points, since the caller named the path and so decides, but it
//     triggers no automount.
//   - [Dir] reaches only what lies beneath a directory, on the same mount, and follows no symbolic link at all. It is
//     what to walk hostile directories with: at a mount point it answers [nodefs.ErrCrossesMount] without asking the server
//     behind it.
//
// Nothing here has a deadline. Where the file system itself may be dead, calls belong into package probe. A call that was
// given up keeps what it works on alive, so a handle may be closed while a call on it is stuck.
//
// Descriptors are raw and never registered with Go's poller, since epoll asks FUSE servers about them. Errors are of
// type [*io/fs.PathError] and wrap a sentinel of package nodefs or the kernel's error number, so that [errors.Is] finds
// [io/fs.ErrNotExist] and [io/fs.ErrPermission]. Reading works on Linux only; elsewhere [Open] says so.
package hostfs

import "github.com/nodeforensics/nodeforensics/internal/nodefs"

// An FS is what the subjects read through.
var _ nodefs.FS = (*FS)(nil)

// maxLinks is how many symbolic links a look-up follows, the kernel's own limit (path_resolution(7)).
const maxLinks = 40
