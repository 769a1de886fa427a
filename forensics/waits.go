package forensics

import (
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

// WaitsFor says whether a wait is one for the file system that a mount shows. A thread may be stuck on its way to a
// path, on another mount than the one that the path lies on.
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

// WaitAtLeast is how long something has provably waited, at least. The zero value means that nothing is known: such a wait
// may be of any age, and is no short one.
type WaitAtLeast struct {
	Seconds float64
	// Known says that something proves the age; From says what, in words.
	Known bool
	From  string
	// Measured says that it has not waited longer, either: the kernel notes when a thread ran last. It may have waited for the
	// same thing before that, if something wakes it up from time to time.
	Measured bool
}
