package hostfs

import (
	"bytes"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/octal"
)

// tableLimit bounds what is read of the mount table; 100,000 mounts need some 20 MB.
const tableLimit = 64 << 20

// A mountTable follows /proc/self/mountinfo. It is what keeps look-ups away from automount points. O_PATH does not: it
// triggers nothing, but waits for a mount that is under way there (fs/namei.c, __traverse_mounts; fs/autofs/root.c,
// autofs_d_manage), and that is forever if the daemon or the server is gone. Nor does openat2 with RESOLVE_NO_XDEV
// before Linux 6.18 ("openat2: don't trigger automounts with RESOLVE_NO_XDEV"). Without openat2 the table also keeps a
// [Dir] from entering other mounts.
type mountTable struct {
	mu     sync.Mutex
	file   *handle
	last   *mountPoints
	reread bool
}

// mountPoints is what is mounted where, as paths that this process sees.
type mountPoints struct {
	all func() map[string]struct{} // nil where nothing is known
	// autofs are those where the topmost mount is a trigger.
	autofs []string
}

// current returns the mount points of this moment. The kernel says by poll(2) whether the table has changed since the
// last time, so this costs one call as a rule. Where there is no procfs, nothing is known.
func (t *mountTable) current() *mountPoints {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.open()
	}
	fd, err := t.file.use()
	if err != nil { // closed with the FS, or never opened
		return t.last
	}
	defer t.file.done()
	// The poll comes before the reading, so that a change during the reading is seen the next time.
	changed := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}
	if n, err := unix.Poll(changed, 0); err != nil || n > 0 {
		t.reread = true
	}
	if !t.reread {
		return t.last
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return t.last
	}
	if data, err := appendFile(context.Background(), nil, fd, tableLimit); err == nil {
		t.last, t.reread = parseMountPoints(data), false
	}
	return t.last
}

func (t *mountTable) open() {
	t.last = &mountPoints{}
	if fd, err := openat(unix.AT_FDCWD, "/proc/self/mountinfo", readFlags); err == nil {
		t.file, t.reread = newHandle(fd), true
	}
}

func (t *mountTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = &mountPoints{}
	}
	_ = t.file.close()
}

// parseMountPoints reads lines like
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//
// of which the fifth field is the mount point and the one behind the hyphen the type, see proc_pid_mountinfo(5). All mount
// points are needed on old kernels only, and triggers are rare: a node may have thousands of mounts, and every command
// begins with this.
func parseMountPoints(table []byte) *mountPoints {
	p := &mountPoints{all: sync.OnceValue(func() map[string]struct{} {
		all := map[string]struct{}{}
		eachMountPoint(table, func(point string, _ []byte) { all[point] = struct{}{} })
		return all
	})}
	if !bytes.Contains(table, []byte(beforeAutofs)) {
		return p
	}
	triggers := map[string]struct{}{}
	eachMountPoint(table, func(point string, tail []byte) {
		delete(triggers, point) // this mount is younger and covers it
		if bytes.HasPrefix(tail, []byte(beforeAutofs)) {
			triggers[point] = struct{}{}
		}
	})
	p.autofs = slices.Collect(maps.Keys(triggers))
	return p
}

const (
	beforeType   = " - "
	beforeAutofs = beforeType + "autofs "
)

// eachMountPoint calls f with the mount point of each line and what follows the optional fields.
func eachMountPoint(table []byte, f func(point string, tail []byte)) {
	for line := range bytes.Lines(table) {
		end := bytes.Index(line, []byte(beforeType))
		if end < 0 {
			continue
		}
		if fields := bytes.Fields(line[:end]); len(fields) >= 6 {
			f(string(octal.Unescape(bytes.Clone(fields[4]))), line[end:])
		}
	}
}

// triggerOn returns whether an automount point stands between the directory dir, which ends in a slash, and what rel
// names beneath it. What lies above dir is of no interest.
func (p *mountPoints) triggerOn(dir, rel string) bool {
	for _, trigger := range p.autofs {
		beneath, ok := strings.CutPrefix(trigger, dir)
		if !ok || beneath == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(path.Clean(rel), beneath); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// has says whether something is mounted at a path.
func (p *mountPoints) has(path string) bool {
	if p.all == nil {
		return false
	}
	_, ok := p.all()[path]
	return ok
}
