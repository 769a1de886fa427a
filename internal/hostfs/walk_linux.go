package hostfs

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// procRootIno is the inode number of a procfs's own root directory (PROC_ROOT_INO, include/linux/proc_fs.h).
const procRootIno = 1

// A walk is a look-up of a path from a root, one component at a time. It holds one O_PATH descriptor, at, and its
// canonical path; neither can leave the root, whatever is renamed meanwhile, because ".." goes back to the root and down
// again instead of asking the kernel for a parent.
type walk struct {
	root   int
	at     int      // equal to root, or owned
	names  []string // of at, below root
	links  int
	seen   string // the root's path in the mount table
	points *mountPoints
}

// lookup finds path. The final component is followed if it is a link and follow is set. The caller closes the descriptor,
// which is always a new one.
func (w *walk) lookup(p string, follow bool) (fd int, canonical string, err error) {
	defer func() {
		if err != nil {
			w.move(w.root)
		}
	}()
	for rest := p; ; {
		rest = strings.TrimLeft(rest, "/")
		if rest == "" {
			break
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		more := follow || strings.Trim(rest, "/") != ""
		if rest, err = w.step(name, rest, more); err != nil {
			return -1, "", err
		}
	}
	if w.at == w.root {
		if w.at, err = openat(w.root, ".", pathFlags); err != nil {
			w.at = w.root
			return -1, "", err
		}
	}
	return w.at, "/" + path.Join(w.names...), nil
}

// step goes to one component and returns what is left to walk, which grows when the component is a link to follow.
func (w *walk) step(name, rest string, follow bool) (string, error) {
	switch name {
	case ".":
		return rest, nil
	case "..":
		return rest, w.up()
	}
	if len(w.points.autofs) > 0 && w.points.triggerOn(w.seen, path.Join(path.Join(w.names...), name)) {
		return "", nodefs.ErrCrossesMount
	}
	fd, err := openat(w.at, name, pathFlags)
	if err != nil {
		return "", err
	}
	target, err := readlink(fd, "")
	if err != nil || !follow { // ENOENT: it is no link. Any other trouble shows when it is used.
		w.names = append(w.names, name)
		w.move(fd)
		return rest, nil
	}
	_ = unix.Close(fd)
	return w.jump(target, rest)
}

// jump follows a link that stands in the current directory.
func (w *walk) jump(target, rest string) (string, error) {
	if w.links++; w.links > maxLinks {
		return "", nodefs.ErrTooManyLinks
	}
	switch magic, err := w.inProcess(); {
	case err != nil:
		return "", err
	case magic:
		return "", nodefs.ErrSymlink
	case target == "":
		return "", unix.ENOENT
	}
	if strings.HasPrefix(target, "/") {
		w.names = w.names[:0]
		w.move(w.root)
	}
	return target + "/" + rest, nil
}

// inProcess says whether the current directory belongs to a process's part of a procfs. The links there are no text:
// what cwd, root, exe, fd/N and ns/N show is a path of another mount namespace, or no path at all. The links in procfs's
// own root (self, mounts, net) are text.
func (w *walk) inProcess() (bool, error) {
	magic, err := fsType(w.at)
	if err != nil || magic != unix.PROC_SUPER_MAGIC {
		return false, err
	}
	st, err := fstat(w.at)
	return st.Ino != procRootIno, err
}

// up goes to the parent; the parent of the root is the root.
func (w *walk) up() error {
	if len(w.names) == 0 {
		return nil
	}
	w.names = w.names[:len(w.names)-1]
	w.move(w.root)
	for _, name := range w.names {
		fd, err := openat(w.at, name, pathFlags) // a link by now: the next step says ENOTDIR
		if err != nil {
			return err
		}
		w.move(fd)
	}
	return nil
}

// move makes fd the current place.
func (w *walk) move(fd int) {
	if w.at != w.root && w.at != fd {
		_ = unix.Close(w.at)
	}
	w.at = fd
}
