package forensics

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// Waited is how long a thread provably waits, in seconds: since it last ran, since its goroutine was stamped, or between
// two equal readings. 0 means that nothing proves an age; from says what does.
func (m *Model) Waited(t procs.Thread) (seconds float64, from string) {
	if t.WaitSeconds != nil {
		seconds, from = *t.WaitSeconds, "it has not run since"
	}
	if t.Same && t.SampledSeconds > seconds {
		seconds, from = t.SampledSeconds, "two readings were equal"
	}
	if j := m.GoroutineOf(t.PID, t.TID); j != nil && j.Certain {
		for _, g := range m.evidence.Dumps[j.Dump].Goroutines {
			if age := g.WaitAtLeast().Seconds(); g.ID == j.Goroutine && age > seconds {
				seconds, from = age, fmt.Sprintf("goroutine %d says %s, of which the runtime can have added 2", g.ID, Plural(g.WaitMinutes, "minute"))
			}
		}
	}
	return seconds, from
}

// WaitsFor says whether a wait is one for the file system that a mount shows. A thread may be stuck on its way to a
// path, on another mount than the one that the path lies on.
func WaitsFor(w procs.Wait, m mounts.Mount) bool {
	switch w.Kind {
	case procs.WaitFUSE:
		return m.Class == mounts.ClassFUSE
	case procs.WaitServer:
		return m.Class == mounts.ClassNetwork && (w.FS == "" || sameFS(w.FS, m.FSType))
	case procs.WaitBlock, procs.WaitJournal, procs.WaitFrozen:
		return m.Class == mounts.ClassBlock && (w.FS == "" || sameFS(w.FS, m.FSType))
	}
	return false
}

// ShowsSilence says whether a wait for the file system that a mount shows can only mean that its server does not answer, if
// it lasts. A server may be well and busy for minutes with one request that moves data: a file that is uploaded when it is
// closed (s3fs, rclone) or fetched when it is opened (blobfuse2), a copy on the server (copy_file_range), a flush of all that
// was written. Of a disk nothing else is known.
func ShowsSilence(t procs.Thread, m mounts.Mount) bool {
	switch {
	case !WaitsFor(t.Wait, m):
		return false
	case m.Class != mounts.ClassFUSE && m.Class != mounts.ClassNetwork:
		return true
	case t.Syscall == nil:
		return false
	}
	return lookUps[t.Syscall.Name] || m.Class == mounts.ClassNetwork && opens[t.Syscall.Name]
}

// Calls that a server answers at once if it is well: those that look at names and attributes, and those that open files.
var (
	lookUps = set(`
		stat lstat fstat newfstatat statx statfs fstatfs ustat access faccessat faccessat2 readlink readlinkat getdents getdents64
		chdir fchdir chroot getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr inotify_add_watch name_to_handle_at
		mkdir mkdirat rmdir`)
	opens = set("open openat openat2")
)

func set(names string) map[string]bool {
	members := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		members[name] = true
	}
	return members
}

// sameFS compares the file system that a kernel stack names with a mount's type: nfs and nfs4, smb3 and cifs.
func sameFS(stack, fsType string) bool {
	family := func(s string) string {
		switch s {
		case "nfs4":
			return "nfs"
		case "smb3", "smb":
			return "cifs"
		case "jbd2", "ext3", "ext2":
			return "ext4"
		}
		return s
	}
	return family(stack) == family(fsType)
}
