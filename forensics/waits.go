package forensics

import (
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

// WaitsFor says whether a wait is one for the file system of a mount. A thread may be blocked while it looks up a path, on another mount
// than the path's own.
func WaitsFor(w procs.Wait, m mounts.Mount) bool {
	family := fsfamily.Of(m.FSType).Name
	switch w.Kind {
	case procs.WaitFUSE:
		return m.Class == mounts.ClassFUSE || family == fsfamily.NameFUSE // virtiofs is of class network
	case procs.WaitServer:
		return m.Class == mounts.ClassNetwork && (w.FS == "" || w.FS == family)
	case procs.WaitBlock, procs.WaitJournal, procs.WaitFrozen:
		return m.Class == mounts.ClassBlock && (w.FS == "" || w.FS == family)
	}
	return false
}

// WaitAtLeast is how long something has provably waited, at least. The zero value means that the age is unknown: the wait may be long.
type WaitAtLeast struct {
	Seconds float64
	// Known says that the age is proven; From says by what.
	Known bool
	From  string
	// Measured says that it has not waited longer, either: the kernel records when a thread ran last. It may have waited for the same
	// thing before that, if something wakes it up from time to time.
	Measured bool
}
