package live

import (
	"bytes"
	"context"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// Columns of /sys/block/DISK/stat (Documentation/block/stat.rst): requests that have been completed. The later ones are there
// since Linux 4.18 and 5.5.
var (
	completedAll     = []int{0, 4, 11, 15} // reads, writes, discards, flushes
	completedWriting = []int{4, 11, 15}
)

// A Disk is one of which [AwaitProgress] wants to know whether it works.
type Disk struct {
	Mount   mounts.Mount
	Writing bool // only what is written counts
}

// AwaitProgress watches the disks of file systems until each has completed a request, for so long at most, and returns what they
// completed. A disk that does may be slow or have much to do, but is not dead. It asks nothing: the kernel counts. Of a disk that
// the kernel counts nothing of there is no entry.
//
// The disk of a file system without a device number of its own (btrfs) is the one that its mount names, of which there may be
// more.
func AwaitProgress(ctx context.Context, fsys *hostfs.FS, disks []Disk, limit time.Duration) []mounts.DiskProgress {
	const interval = 20 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticks := 0
	before := make([]uint64, len(disks))
	left := map[int]bool{}
	for i, d := range disks {
		if n, ok := d.completed(fsys); ok {
			before[i], left[i] = n, true
		}
	}
	seen := []mounts.DiskProgress{}
	note := func(i int, completed uint64) {
		seen = append(seen, mounts.DiskProgress{
			Device: disks[i].Mount.Device, Writing: disks[i].Writing, Completed: completed, Seconds: (time.Duration(ticks) * interval).Seconds(),
		})
		delete(left, i)
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for len(left) > 0 {
		select {
		case <-ctx.Done():
			for i := range disks {
				if left[i] {
					note(i, 0)
				}
			}
			return seen
		case <-tick.C:
			ticks++
		}
		for i := range disks {
			if !left[i] {
				continue
			}
			switch n, ok := disks[i].completed(fsys); {
			case !ok:
				delete(left, i)
			case n > before[i]:
				note(i, n-before[i])
			}
		}
	}
	return seen
}

// completed counts the requests that a disk has completed; false where the kernel does not tell.
func (d Disk) completed(fsys *hostfs.FS) (uint64, bool) {
	name := "/sys/dev/block/" + d.Mount.Device
	if strings.HasPrefix(d.Mount.Device, "0:") {
		name = "/sys/class/block/" + path.Base(d.Mount.Source)
	}
	dir, err := fsys.Resolve(name)
	if err != nil {
		return 0, false
	}
	text, err := fsys.ReadFile(dir+"/stat", 1<<10)
	if err != nil {
		return 0, false
	}
	columns, counted := bytes.Fields(text), completedAll
	if d.Writing {
		counted = completedWriting
	}
	sum := uint64(0)
	for _, i := range counted {
		if i >= len(columns) {
			break
		}
		n, err := strconv.ParseUint(string(columns[i]), 10, 64)
		if err != nil {
			return 0, false
		}
		sum += n
	}
	return sum, len(columns) > 0
}
