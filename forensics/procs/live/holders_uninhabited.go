package live

import (
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
)

// uninhabited learns the mounts of namespaces that no process is in. Where the kernel does not list those, that is no
// trouble of this pass: nothing is said of them then.
func (r *resolver) uninhabited(members map[uint64][]int) {
	inhabited := make(map[uint64]bool, len(members))
	for ns := range members {
		inhabited[ns] = true
	}
	_ = mountslive.Uninhabited(r.ctx, r.fsys, r.group, inhabited, func(t mounts.Table) { r.learn(&t) })
}
