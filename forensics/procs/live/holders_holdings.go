package live

import (
	"cmp"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
)

// holdings are what one process holds, or a thread of it for itself.
type holdings struct {
	pid, tid int
	task     string // the directory of the thread that they were read from, "" for that of the process
	ns       uint64
	root     string
	holds    []hold
	sockets  []openSocket
	first    int // place of the first one in the list of all
}

// A hold is a [holders.Holder] without what the holdings of a process have in common. There may be a million of them.
type hold struct {
	at        *named
	device    string
	mount, fd int32
	kind      uint8 // of holdKinds
	byPath    bool
	detached  bool
	kernels   bool // perhaps on a mount of the kernel's own, which is in no table: see procfd.MaybeKernelMount
	gone      bool // it had been let go when its mount was looked for
}

// holdKinds is in the order in which the holders of a process are listed.
var holdKinds = [...]holders.Kind{holders.HoldRoot, holders.HoldCwd, holders.HoldExe, holders.HoldFD, holders.HoldMap, holders.HoldRing, holders.HoldSocket}

const (
	atRoot = uint8(iota)
	atCwd
	atExe
	atFD
	atMap
	atRing
	atSocket
)

// holder is one of the holdings by itself.
func (p *holdings) holder(h *hold) holders.Holder {
	return holders.Holder{
		PID: p.pid, TID: p.tid, Kind: holdKinds[h.kind], FD: int(h.fd), Path: h.at.path, Deleted: h.at.deleted,
		MountID: int(h.mount), Device: h.device, ByPath: h.byPath, Detached: h.detached, MountNS: p.ns,
	}
}

func holdOrder(a, b hold) int {
	if a.kind != b.kind || a.kind != atMap {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.fd, b.fd))
	}
	return cmp.Or(strings.Compare(a.at.path, b.at.path), strings.Compare(a.device, b.device))
}
