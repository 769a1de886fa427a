package forensics

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/text"
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
		g, _, _ := m.Goroutine(j.Dump, j.Goroutine)
		if age := g.WaitAtLeast().Seconds(); age > seconds {
			seconds, from = age, fmt.Sprintf("goroutine %d says %s, of which the runtime can have added 2", g.ID, text.Plural(g.WaitMinutes, "minute"))
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
