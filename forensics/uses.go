package forensics

import (
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// Uses answers who uses mounts, from [MountUse]; where nobody looked it knows of no user.
type Uses struct {
	model      *Model
	namespaces func() map[uint64]NamespaceProcesses
	usesIndex
}

// usesIndex is that of [MountUse].
type usesIndex struct {
	holdersOf     map[int][]int32    // by mount
	holdersIn     map[string][]int32 // by superblock
	byPathAt      map[string][]int32 // holders by the mount point of the host's mount that only their path tells
	kernelOf      map[int][]int32    // by mount
	copiesOf      map[int][]int32    // by mount
	serversOf     map[string][]int32 // by superblock
	leakedIn      map[string][]int32 // by superblock
	privateIn     map[string][]int32 // by superblock
	descriptorsOf map[uint64][]int32 // by namespace
	pinnedOf      map[uint64][]int32 // by namespace
	uninhabited   map[uint64]bool
	userNames     map[int]string
	detachedFUSE  string // the only FUSE superblock that callers wait for, if it is in no mount table
}

// Uses answers who uses mounts.
func (m *Model) Uses() *Uses { return m.uses }

func newUses(m *Model) *Uses {
	x := &Uses{model: m}
	x.namespaces = sync.OnceValue(x.allNamespaces)
	h := m.evidence.MountUse
	if h == nil {
		return x
	}
	x.usesIndex = usesIndex{
		holdersOf:     positions(h.Holders, func(h *holders.Holder) int { return h.MountID }),
		holdersIn:     positions(h.Holders, func(h *holders.Holder) string { return h.Device }),
		kernelOf:      positions(h.Kernel, func(k *holders.KernelUser) int { return k.MountID }),
		copiesOf:      positions(h.Copies, func(c *mounts.Copy) int { return c.Of }),
		serversOf:     positions(h.Servers, func(s *FUSEServer) string { return s.Device }),
		leakedIn:      positions(h.Leaked, func(l *LeakedMount) string { return l.Mount.Device }),
		privateIn:     positions(h.Private, func(l *LeakedMount) string { return l.Mount.Device }),
		descriptorsOf: positions(h.Namespaces, func(h *holders.NamespaceHold) uint64 { return h.Namespace }),
		pinnedOf:      positions(h.Pinned, func(p *PinnedNamespace) uint64 { return p.Namespace }),
		uninhabited:   map[uint64]bool{}, userNames: map[int]string{},
	}
	x.byPathAt = positions(h.Holders, func(h *holders.Holder) string {
		mount, ok := m.host.ByID(h.MountID)
		if !h.ByPath || !ok || mount.MountPoint == "/" {
			return ""
		}
		return mount.MountPoint
	})
	for _, ns := range h.Uninhabited {
		x.uninhabited[ns] = true
	}
	for _, u := range h.Users {
		if _, twice := x.userNames[u.UID]; !twice {
			x.userNames[u.UID] = u.Name
		}
	}
	for _, s := range h.Servers {
		if s.Detached && s.OnlyWaiting && x.detachedFUSE == "" {
			x.detachedFUSE = s.Device
		}
	}
	return x
}
