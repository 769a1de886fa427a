package forensics

import (
	"context"
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// backings looks at the servers and disks behind the file systems that have one, and of disks at those in trouble.
func (c *collector) backings(ctx context.Context) (Evidence, error) {
	e := c.seen()
	model := NewModel(&e)
	list, errs := mounts.Backings(ctx, c.fs, &e.Mounts, func(m *mounts.Mount) bool {
		if m.Class == mounts.ClassNetwork {
			return true
		}
		h, _ := model.Health(m.Device)
		return m.Class == mounts.ClassBlock && h.Status != mounts.StatusOK && h.Status != mounts.StatusNotProbed
	})
	for i := range list {
		switch h, _ := model.Health(list[i].Device); h.Status {
		case mounts.StatusOK, mounts.StatusSlow, mounts.StatusStale:
			list[i].Answered()
		}
	}
	part := Evidence{Backings: list}
	if len(errs) > 0 && ctx.Err() == nil {
		part.Coverage = append(part.Coverage, Source{
			Source: SourceBackings, Status: SourceTruncated, Detail: fmt.Sprintf("%s; first: %v", Plural(len(errs), "problem"), errs[0]),
		})
	}
	return part, ctx.Err()
}

// Backing is what stands behind a superblock; false where that was not looked at or nothing is known.
func (m *Model) Backing(device string) (mounts.Backing, bool) {
	for _, b := range m.evidence.Backings {
		if b.Device == device {
			return b, true
		}
	}
	return mounts.Backing{}, false
}
