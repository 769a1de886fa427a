package stall

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// pathLength is the length in bytes of the path that a goroutine passed to a file system call. The path itself is not in a dump, but a
// string argument is a pointer and a length. The outermost call that has it is the most reliable: Go 1.17 to 1.21 print stale registers
// for inner ones.
func pathLength(g goroutines.Goroutine) (int, bool) {
	const longest = 4096 // PATH_MAX
	length := 0
	for _, f := range g.Frames {
		at := lengthWord(f.Func)
		if at == 0 {
			continue
		}
		if words := f.Words(); len(words) > at && words[at].Known && !words[at].Uncertain && words[at].Value > 0 && words[at].Value <= longest {
			length = int(words[at].Value)
		}
	}
	return length, length > 0
}

// lengthWord is the index of the word with the length of the path, 0 for functions that take none. A string is two words, after a
// method's receiver.
func lengthWord(function string) int {
	switch s := splitSymbol(function); s.pkg {
	case "os":
		switch s.name {
		case "Stat", "Lstat", "statNolog", "lstatNolog", "Open", "OpenFile", "Remove", "RemoveAll", "removeAll", "ReadDir":
			if s.typ == "" {
				return 1
			}
		}
	case "syscall":
		switch s.name {
		case "Statfs", "Rmdir", "Unlink", "Lstat", "Stat":
			return 1
		}
	case "golang.org/x/sys/unix":
		switch s.name {
		case "Statfs":
			return 1
		case "Statx":
			return 2
		}
	default:
		switch s.name {
		case "PathExists", "isLikelyNotMountPointStat", "statx", "getVfsStats", "CleanupMountPoint":
			if s.typ == "" {
				return 1
			}
			return 2
		case "IsLikelyNotMountPoint", "isLikelyNotMountPointStatx", "IsMountPoint":
			if s.typ == "" {
				return 1
			}
			return 2
		}
	}
	return 0
}

// mountsOfLength lists the mounts that can be the path, by its length: those below pod directories, or for cAdvisor any that can hang.
// The kubelet uses its root directory as configured, the mount table has the resolved path. Mounts that responded are left out.
func mountsOfLength(p *forensics.Pass, g goroutines.Goroutine, length int) []mounts.Mount {
	var found []mounts.Mount
	anywhere := HasFrame(g, "cadvisor/fs.getVfsStats")
	for _, m := range p.Evidence.Mounts.Mounts {
		uid, _ := forensics.PodOf(m.MountPoint)
		if uid == "" && (!anywhere || !canHang(m)) || configuredLength(p, m.MountPoint) != length {
			continue
		}
		if h, ok := p.Model.Health(m.Device); ok && h.Status == mounts.StatusOK {
			continue
		}
		found = append(found, m)
	}
	return found
}

func canHang(m mounts.Mount) bool {
	return m.Class == mounts.ClassNetwork || m.Class == mounts.ClassFUSE || m.Class == mounts.ClassBlock
}

// configuredLength is the length of a path as the kubelet writes it.
func configuredLength(p *forensics.Pass, path string) int {
	k := p.Evidence.Kubelet
	if k == nil || k.RootDir == "" || k.CanonicalRoot == "" || !strings.HasPrefix(path, k.CanonicalRoot+"/") {
		return len(path)
	}
	return len(path) - len(k.CanonicalRoot) + len(strings.TrimSuffix(k.RootDir, "/"))
}
