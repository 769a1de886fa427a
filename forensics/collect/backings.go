package collect

import (
	"context"
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// backings looks at the servers and disks behind the file systems that have one. A disk file system answers from memory
// while its disk is dead, so all are looked at; disks are kept of those in trouble: by how they answer, by who waits for
// them, or by the state of the disk.
func (c *collector) backings(ctx context.Context) (forensics.Evidence, error) {
	e := c.seen()
	model := forensics.NewModel(&e)
	list, errs := backing.Read(ctx, c.fs, &e.Mounts, func(m *mounts.Mount) bool {
		return m.Class == mounts.ClassNetwork || m.Class == mounts.ClassBlock
	})
	waited := map[string]bool{}
	for _, t := range e.Threads {
		waited[t.Device] = true
	}
	part := forensics.Evidence{Backings: list[:0]}
	for _, b := range list {
		h, _ := model.Health(b.Device)
		well := h.Status == mounts.StatusOK || h.Status == mounts.StatusNotProbed
		if len(b.Disks) == 0 && (h.Status == mounts.StatusOK || h.Status == mounts.StatusSlow || h.Status == mounts.StatusStale) {
			b.Answered() // a file system on a disk may do so from memory
		}
		busy := b.Fault == backing.FaultNone || b.Fault == backing.FaultBusy || b.Fault == backing.FaultSilent
		if !well || len(b.Disks) == 0 || waited[b.Device] || !busy {
			part.Backings = append(part.Backings, b)
		}
	}
	if len(errs) > 0 && ctx.Err() == nil {
		part.Coverage = append(part.Coverage, forensics.Source{
			Source: forensics.SourceBackings, Status: forensics.SourceTruncated, Detail: fmt.Sprintf("%s; first: %v", text.Plural(len(errs), "problem"), errs[0]),
		})
	}
	return part, ctx.Err()
}
