package live

import (
	"context"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// DeletedFiles asks how large deleted files are that are open. may says of a superblock whether it may be asked, which
// must be false for every file system with a server; the others are asked under package probe, and no more after the
// first that does not answer within a second. Files of which one descriptor was counted are left out for the others.
func DeletedFiles(ctx context.Context, fsys *hostfs.FS, list []holders.Holder, may func(device string) bool, group *probe.Group) []holders.DeletedFile {
	found := []holders.DeletedFile{}
	if !fsys.Live() {
		return found
	}
	type file struct {
		device string
		inode  uint64
	}
	counted, silent := map[file]bool{}, map[string]bool{}
	for _, h := range list {
		if h.Kind != holders.HoldFD || !h.Deleted || h.Device == "" || silent[h.Device] || ctx.Err() != nil || !may(h.Device) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, time.Second)
		f, err := probe.Do(limited, group, "deleted files on "+h.Device, func() (holders.DeletedFile, error) {
			return statDeleted("/proc/" + strconv.Itoa(h.PID) + "/fd/" + strconv.Itoa(h.FD))
		})
		silent[h.Device] = limited.Err() != nil
		cancel()
		if id := (file{h.Device, f.Inode}); err == nil && f.Inode != 0 && !counted[id] {
			counted[id] = true
			f.PID, f.FD, f.Path, f.MountID, f.Device = h.PID, h.FD, h.Path, h.MountID, h.Device
			found = append(found, f)
		}
	}
	return found
}
