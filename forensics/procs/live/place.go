package live

import (
	"errors"
	"path"
	"strings"
	"sync/atomic"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

// A place is a path and the mount that it is on.
type place struct {
	path, from string
	mountID    int    // 0 if unknown
	device     string // "" if unknown
}

// A where looks for the mounts of paths of one process.
type where struct {
	table     *mounts.Index // of its mount namespace, nil if unknown
	root      string        // its root directory in that namespace
	fs        string        // the file system that the wait names, "" if it names none
	elsewhere bool          // the thread waits for something else than what its system call was asked about
	// readLink reads a symbolic link at a path that has none above it, within the root of the process. The error wraps
	// errNotLink if something else is there.
	readLink func(name string) (string, error)
	// reading is the mount on which that is under way. A disk that is dead does not let it return.
	reading atomic.Pointer[mounts.Mount]
}

// errNotLink says that a path names something that is no symbolic link.
var errNotLink = errors.New("not a symbolic link")

// choose takes the first target that is on a mount which the thread may be waiting for. If there is none, the first
// one is what the call was asked about, and its mount stays open: a wrong one would be blamed.
func (w *where) choose(targets []target) place {
	for _, t := range targets {
		if w.elsewhere {
			break
		}
		if p, ok := w.place(t); ok {
			return p
		}
	}
	if len(targets) == 0 {
		return place{}
	}
	return place{path: targets[0].path, from: targets[0].from}
}

func (w *where) place(t target) (place, bool) {
	p := place{path: t.path, from: t.from}
	if t.mountID != 0 {
		p.mountID = t.mountID
		if w.table != nil {
			m, _ := w.table.ByID(t.mountID) // not there if it has been detached
			p.device = m.Device
		}
		return p, true
	}
	if w.table == nil {
		return p, false
	}
	m, ok := w.covering(t.path)
	if hidden, known := w.table.ByID(t.below); known && w.hidden(hidden, t.path) {
		m = hidden
	}
	if !ok || !mayWaitOn(w.fs, m) {
		return p, false
	}
	p.mountID, p.device = m.ID, m.Device
	return p, true
}

// hidden says whether another mount lies over the one that a path begins at: the descriptor is older than that.
func (w *where) hidden(m mounts.Mount, name string) bool {
	over, ok := w.at(name)
	at := path.Join("/", w.root, name)
	below := at == m.MountPoint || strings.HasPrefix(at, strings.TrimSuffix(m.MountPoint, "/")+"/")
	return ok && below && over.ID != m.ID && len(over.MountPoint) <= len(m.MountPoint) && !strings.Contains(name, "..")
}

// covering returns the mount that a path is on. Symbolic links on the way are followed as long as they stand on local
// file systems: the kubelet's root directory may be one.
func (w *where) covering(name string) (mounts.Mount, bool) {
	m, ok := w.at(name)
	if !ok || !mayFollow(m) && mayWaitOn(w.fs, m) {
		return m, ok
	}
	return w.at(w.resolve(name))
}

// at returns the mount that a path is on by its text.
func (w *where) at(name string) (mounts.Mount, bool) {
	return w.table.Covering(path.Join("/", w.root, name))
}

// mayFollow says whether links on a mount may be read: no server is asked for them.
func mayFollow(m mounts.Mount) bool {
	return m.Class == mounts.ClassBlock || m.Class == mounts.ClassMemory || m.Class == mounts.ClassOverlay
}

const maxLinks = 40 // MAXSYMLINKS of the kernel

// resolve follows the symbolic links in a path, up to where a mount begins on which they may not be read.
func (w *where) resolve(name string) string {
	done, rest := "/", strings.TrimPrefix(name, "/")
	for links := 0; rest != ""; {
		part, more, _ := strings.Cut(rest, "/")
		next := path.Join(done, part) // done has no links, so ".." is the parent
		m, ok := w.at(next)
		if !ok || !mayFollow(m) {
			return path.Join(next, more)
		}
		if part == "" || part == "." || part == ".." || m.MountPoint == path.Join("/", w.root, next) {
			done, rest = next, more
			continue
		}
		w.reading.Store(&m)
		link, err := w.readLink(next)
		w.reading.Store(nil)
		switch {
		case errors.Is(err, errNotLink):
			done, rest = next, more
			continue
		case err != nil || links == maxLinks:
			return path.Join(next, more)
		}
		links++
		if strings.HasPrefix(link, "/") {
			done = "/"
		}
		rest = strings.TrimPrefix(link+"/"+more, "/")
	}
	return done
}

// mayWaitOn says whether a thread that waits in a file system may do so because of a mount. A path found by its text
// can be on quite another mount than the kernel got to, through a symbolic link or a directory that was replaced.
func mayWaitOn(fsName string, m mounts.Mount) bool {
	if fsName == "" {
		return true
	}
	switch m.Class {
	case mounts.ClassUnknown, mounts.ClassOverlay: // an overlay waits for whatever its layers are on
		return true
	case mounts.ClassMemory, mounts.ClassPseudo:
		return false
	}
	return fsName == fsfamily.Of(m.FSType).Name
}
