package forensics

import (
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

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
