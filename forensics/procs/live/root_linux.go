package live

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// A rootDir is the root directory of a process. Package hostfs does not go through the magic link that leads there, and
// rightly so: what a path means beyond it is another machine's view.
type rootDir int

// openRoot opens the root directory of a thread, only as a place to start from (O_PATH). That asks no server.
func (v *visit) openRoot(task string) rootDir {
	if !v.c.fsys.Live() {
		return -1 // the links of a dead machine's /proc mean nothing here
	}
	fd, err := unix.Open(v.dir.Path()+"/"+task+"root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return rootDir(fd)
}

func (d rootDir) close() {
	if d >= 0 {
		_ = unix.Close(int(d))
	}
}

const (
	resolveCached = 0x20 // RESOLVE_CACHED of include/uapi/linux/openat2.h
	maxTries      = 100  // of a few microseconds each
)

// readLink implements where.readLink. The kernel is told to follow no link on the way, so that nothing that was replaced
// meanwhile can lead to another mount. Before Linux 5.6 (openat2) it cannot be told, and the link is read as it is.
//
// From 5.12 on only names that are in memory are looked up (RESOLVE_CACHED), so that no disk is asked: on a dead one this
// thread would stay forever. A name that is not in memory is one that the waiting thread has not got past either. The kernel says the
// same of it, EAGAIN, as where something was mounted meanwhile, which happens all the time on a node, so it is asked again.
func (d rootDir) readLink(name string) (string, error) {
	if d < 0 {
		return "", fs.ErrNotExist
	}
	rel := strings.TrimPrefix(name, "/")
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | resolveCached,
	}
	fd, err := unix.Openat2(int(d), rel, &how)
	for try := 1; errors.Is(err, unix.EAGAIN) && try < maxTries; try++ {
		fd, err = unix.Openat2(int(d), rel, &how)
	}
	if errors.Is(err, unix.EINVAL) {
		how.Resolve &^= resolveCached
		fd, err = unix.Openat2(int(d), rel, &how)
	}
	if err == nil {
		defer rootDir(fd).close()
		return readlinkat(fd, "")
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return readlinkat(int(d), rel)
	}
	return "", err
}

func readlinkat(dir int, name string) (string, error) {
	var buf [maxPath]byte
	n, err := unix.Readlinkat(dir, name, buf[:])
	if errors.Is(err, unix.EINVAL) || name == "" && errors.Is(err, unix.ENOENT) {
		return "", errNotLink // ENOENT is the answer where the descriptor itself is no link
	}
	return string(buf[:max(n, 0)]), err
}
