package read

import (
	"path"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/errno"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// A detachedReader finds disks that are busy after a lazy unmount, and who has files open there.
type detachedReader struct {
	to   *systemText
	name string
	// device was named by the last command that needs it free; picked are the words that the last command for open files was to find.
	device string
	picked []string
}

// lazyUnmounts are what a text shows of file systems that were unmounted lazily.
type lazyUnmounts struct {
	seen  bool
	paths []string
	// busy says of each disk whether the last command found it in use.
	busy  map[string]bool
	dirs  []string        // that cannot be removed, since they are busy
	users []procs.Process // with their first file as the only argument
}

var (
	lazyUnmount = pattern.New(`(?:\bumount\s+(?:-\w+\s+)*(?:-\w*l\w*|--lazy)|\bfusermount3?\s+-\w*z\w*)(?:\s+(/\S+))?`)
	// needsDisk are commands that fail while a disk has a file system that is mounted anywhere.
	needsDisk = pattern.New(`\b(?:rbd (?:unmap|device unmap)|multipath -f|mkfs(?:\.\w+)?|mke2fs|wipefs|dmsetup remove|cryptsetup (?:luksClose|close)|lvchange|vgchange|lvremove|mdadm (?:--stop|-S)|e2fsck|fsck(?:\.\w+)?|xfs_repair|nbd-client -d|qemu-nbd -d|losetup -d|blockdev)\s.*?(\S+)$`)
	inUse     = pattern.New(`^/dev/(\S+) is (?:apparently )?in use\b|\bDevice (\S+) is still in use\b|(\S+) contains a filesystem in use|(\S+): map in use$`)
	unmapBusy = pattern.New(`\bunmap failed: \(16\)`)
	liveDisk  = pattern.New(`^/(?:sys|proc)/fs/(?:ext4|xfs|btrfs|f2fs|jbd2)/(\S+?)/?$`)
	openFile  = pattern.New(`^(\S+)\s+(\d+)\s+(?:\S+\s+){0,3}?(?:cwd|rtd|txt|mem|\d+[urw]?\S?)\s+(?:REG|DIR)\s+(\d+,\d+)\s+(?:\S+\s+){1,3}(/.*)$`)
	openLink  = pattern.New(`^l[rwx-]{9}\S*\s.*(?:\s|/fd/)\d+ -> (/.*)$`)
	// grepped is what a command looks for, by grep(1) or by a column of awk(1).
	grepped = pattern.New(`\bgrep\s+(?:-\w+\s+)*["']? ?([^\s"']{3,})["']?|\$\d+ ?(?:==|~) ?["/]([^"/]{3,})["/]`)
	// noMount is the event that an empty search of the host's table was made, in package kubectl.
	noMount   = pattern.New(`"reason":"NoMount","message":"([^"]+)"`)
	busyDir   = pattern.New(`^(?:rmdir|rm): (?:failed to remove|cannot remove) ['‘"\x60]?(/[^'’"\x60]+)['’"\x60]?: (.+)$`)
	processFD = pattern.New(`/proc/(\d+|\*|\[[^/ ]*)/fd\b(/\d+)?`)
)

// ofUID is how much of the name of a volume is certainly no part of another.
const ofUID = 8

func (r *detachedReader) line(s string, _ int) {
	text, d := strings.TrimSpace(s), &r.to.lazy
	if m := lazyUnmount.FindStringSubmatch(text); m != nil && !strings.ContainsAny(text, "?？") {
		d.seen = true
		d.paths = append(d.paths, strings.TrimRight(m[1], "/`"))
	}
	if m := noMount.FindStringSubmatch(text); m != nil {
		r.to.search(m[1]).lacks = true
		return
	}
	if m := openFile.FindStringSubmatch(text); m != nil && slices.Contains(r.picked, m[3]) {
		r.user(procs.Process{PID: atoi(m[2]), Comm: m[1], Command: []string{m[4]}})
		return
	}
	if m := openLink.FindStringSubmatch(text); m != nil {
		if len(r.picked) > 1 && strings.Contains(m[1], r.picked[1]) && m[1] != "/" && !strings.HasPrefix(m[1], "/dev/") {
			r.user(procs.Process{PID: atoi(r.picked[0]), Command: []string{m[1]}})
		}
		return
	}
	if m := liveDisk.FindStringSubmatch(text); m != nil {
		d.found(m[1], true)
		return
	}
	if m := busyDir.FindStringSubmatch(text); m != nil {
		if errno.Of(m[2]) == "EBUSY" && len(d.dirs) < mostSaved {
			d.dirs = append(d.dirs, m[1])
		}
		return
	}
	m := inUse.FindStringSubmatch(text)
	switch {
	case m != nil:
		d.found(path.Base(m[1]+m[2]+m[3]+m[4]), true)
	case r.device != "" && errno.Of(text) == "EBUSY", unmapBusy.MatchString(text):
		d.found(r.device, true)
	case strings.Contains(text, "lsof") || processFD.MatchString(text):
		r.picked = nil
		if in := processFD.FindStringSubmatch(text); in != nil {
			r.picked = []string{in[1]}
			if in[2] != "" || !strings.Contains(text, "grep") {
				r.picked = []string{in[1], "/"} // these descriptors were to be shown
			}
		}
		for _, g := range grepped.FindAllStringSubmatch(text, -1) {
			r.picked = append(r.picked, strings.Split(strings.ReplaceAll(g[1]+g[2], `\`, ""), "|")...)
		}
	default:
		if m := needsDisk.FindStringSubmatch(text); m != nil && !strings.Contains(text, ": ") {
			r.device = path.Base(m[1])
			d.found(r.device, false)
		}
	}
}

func (d *lazyUnmounts) found(device string, busy bool) {
	if d.busy == nil {
		d.busy = map[string]bool{}
	}
	if len(d.busy) < mostSaved {
		d.busy[device] = busy
	}
}

// busyDir is a directory that cannot be removed and is named like a mount.
func (d *lazyUnmounts) busyDir(name string) string {
	if i := slices.IndexFunc(d.dirs, func(dir string) bool { return len(name) >= ofUID-1 && strings.Contains(dir, name) }); i >= 0 {
		return d.dirs[i]
	}
	return ""
}

// busyDisk is the disk that a name is part of, if a command has found that in use. The only one of the text need not be named.
func (d *lazyUnmounts) busyDisk(name string) string {
	for device, busy := range d.busy {
		if busy && (device == path.Base(name) || device == "" && len(d.busy) == 1) {
			return path.Base(name)
		}
	}
	return ""
}

func (r *detachedReader) user(p procs.Process) {
	r.to.saw(forensics.SourceHolders, r.name)
	if d := &r.to.lazy; len(d.users) < mostSaved && !slices.ContainsFunc(d.users, func(q procs.Process) bool { return q.PID == p.PID }) {
		d.users = append(d.users, p)
	}
}

func (d *lazyUnmounts) take(other lazyUnmounts) {
	d.seen, d.paths, d.users = d.seen || other.seen, append(d.paths, other.paths...), append(d.users, other.users...)
	d.dirs = append(d.dirs, other.dirs...)
	for device, busy := range other.busy {
		d.found(device, busy)
	}
}

// addDetached adds the users of a disk that is busy, although the host's table was searched for it and lacks it, if somebody has unmounted lazily.
// More than one disk or file system would leave open whose the users are.
func (x *systemText) addDetached(e *forensics.Evidence) {
	device := ""
	for name, busy := range x.lazy.busy {
		if !busy {
			continue
		}
		if device != "" {
			return
		}
		device = name
	}
	if device == "" || !x.lazy.seen || len(x.lazy.users) == 0 || !x.lacksMount(device) {
		return
	}
	if e.MountUse == nil {
		e.MountUse = &forensics.MountUse{}
	}
	for _, p := range x.lazy.users {
		e.MountUse.Found = append(e.MountUse.Found, holders.Holder{PID: p.PID, Path: p.Command[0], Device: device, Detached: true})
		if p.Comm != "" {
			e.Processes = append(e.Processes, procs.Process{PID: p.PID, Comm: p.Comm, State: "S", UID: -1})
			x.saw(forensics.SourceProcesses, x.seen[forensics.SourceHolders])
		}
	}
}

// lacksMount says whether the host's table was searched for a disk, or for the path of a lazy unmount, and has it not.
func (x *systemText) lacksMount(device string) bool {
	of := func(s tableSearch) bool {
		name := path.Base(s.name) // of a logical volume, its group is before it
		return name == device || strings.HasSuffix(name, "-"+strings.ReplaceAll(device, "-", "--")) || len(s.name) >= ofUID && strings.HasPrefix(device, s.name) || slices.ContainsFunc(x.lazy.paths, func(p string) bool { return p != "" && strings.Contains(p, s.name) })
	}
	lacks := false
	for _, s := range x.searches {
		if of(s) {
			if s.has {
				return false
			}
			lacks = lacks || s.lacks || s.nowhere()
		}
	}
	return lacks
}
