package live

import (
	"path"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// LastWritten is when a log of the node was written last, zero where there is none. On the disk of a dead node it tells
// where the window has to end.
func LastWritten(fsys *hostfs.FS) (last time.Time) {
	dirs := []string{"/var/log", "/var/log/kubernetes", "/var/log/kubelet", "/var/lib/rancher/rke2/agent/logs"}
	machines, _ := fsys.ReadDir("/var/log/journal", 100)
	for _, m := range machines {
		dirs = append(dirs, path.Join("/var/log/journal", m.Name))
	}
	for _, dir := range dirs {
		entries, _ := fsys.ReadDir(dir, maxLogDir)
		for _, e := range entries {
			if info, err := fsys.Lstat(path.Join(dir, e.Name)); err == nil && info.Mode.IsRegular() && info.ModTime.After(last) {
				last = info.ModTime
			}
		}
	}
	return last
}
