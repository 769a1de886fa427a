package live

import (
	"strings"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

// indexFor is the index of those mounts of a table that can matter to some paths: what is on a path or above it. Most
// namespaces have few processes and, having begun as a copy of the host's, many mounts.
func indexFor(t *mounts.Table, list []*holdings) *mounts.Index {
	above := map[string]bool{"/": true}
	for _, p := range list {
		for i := range p.holds {
			name := p.holds[i].at.path
			for ; len(name) > 1 && !above[name]; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
				above[name] = true
			}
		}
	}
	some := mounts.Table{}
	for i := range t.Mounts {
		if above[t.Mounts[i].MountPoint] {
			some.Mounts = append(some.Mounts, t.Mounts[i])
		}
	}
	return some.Index()
}

// byDevice finds the mount of a mapped file, of which the superblock is certain: the mount that its path is on if it is
// of that superblock, else the only mount of that superblock in the namespace.
func byDevice(h *hold, index *mounts.Index, only func(device string) int) {
	switch m, covered := index.Covering(h.at.path); {
	case covered && m.Device == h.device:
		h.mount = int32(m.ID)
	case covered && fsfamily.Of(m.FSType).OwnDevices:
		h.mount, h.device, h.byPath = int32(m.ID), m.Device, true
	default:
		h.mount = int32(only(h.device))
	}
}

// onlyMounts finds the one mount of a superblock in a table, 0 if there are several or none.
func onlyMounts(t *mounts.Table) func(device string) int {
	ids := sync.OnceValue(func() map[string]int {
		ids := make(map[string]int, len(t.Mounts))
		for i := range t.Mounts {
			m := &t.Mounts[i]
			if _, several := ids[m.Device]; several {
				ids[m.Device] = 0
			} else {
				ids[m.Device] = m.ID
			}
		}
		return ids
	})
	return func(device string) int { return ids()[device] }
}
