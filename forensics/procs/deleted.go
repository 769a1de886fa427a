package procs

import (
	"context"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// A DeletedFile is a file without a name whose space is not free, since a process has it open.
type DeletedFile struct {
	PID     int    `json:"pid"`
	FD      int    `json:"fd"`
	Path    string `json:"path"` // the name that it had
	MountID int    `json:"mount_id,omitempty"`
	Device  string `json:"device,omitempty"`
	// Inode tells files apart, several descriptors of which may be open.
	Inode uint64 `json:"inode"`
	// AllocatedBytes is the space that is free once the last process lets go; SizeBytes the length of the file.
	AllocatedBytes int64 `json:"allocated_bytes"`
	SizeBytes      int64 `json:"size_bytes"`
	// Written says that it is open for writing. On an overlay only such a file certainly takes space of the upper layer; one
	// that was only read may lie in a layer of an image.
	Written bool `json:"open_for_writing,omitempty"`
}

// DeletedFiles asks how large deleted files are that are open. may says of a superblock whether it may be asked, which
// must be false for every file system with a server; the others are asked under package probe, and no more after the
// first that does not answer within a second. Files of which one descriptor was counted are left out for the others.
func DeletedFiles(ctx context.Context, fsys *hostfs.FS, holders []Holder, may func(device string) bool, group *probe.Group) []DeletedFile {
	found := []DeletedFile{}
	if !fsys.Live() {
		return found
	}
	type file struct {
		device string
		inode  uint64
	}
	counted, silent := map[file]bool{}, map[string]bool{}
	for _, h := range holders {
		if h.Kind != HoldFD || !h.Deleted || h.Device == "" || silent[h.Device] || ctx.Err() != nil || !may(h.Device) {
			continue
		}
		asked, cancel := context.WithTimeout(ctx, time.Second)
		f, err := probe.Do(asked, group, "deleted files on "+h.Device, func() (DeletedFile, error) {
			return statDeleted("/proc/" + strconv.Itoa(h.PID) + "/fd/" + strconv.Itoa(h.FD))
		})
		silent[h.Device] = asked.Err() != nil
		cancel()
		if id := (file{h.Device, f.Inode}); err == nil && f.Inode != 0 && !counted[id] {
			counted[id] = true
			f.PID, f.FD, f.Path, f.MountID, f.Device = h.PID, h.FD, h.Path, h.MountID, h.Device
			found = append(found, f)
		}
	}
	return found
}
