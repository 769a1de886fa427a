package collect

import (
	"context"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
)

// hostMounts reads the table of the first process, which is the host's, or else of this one. A first process that may
// not be looked into (no root, a sandbox) has a table, but its namespace could not be reached.
func (c *collector) hostMounts(ctx context.Context) (forensics.Evidence, error) {
	table, err := mountslive.Read(ctx, c.fs, 1)
	if len(table.Mounts) == 0 || table.Namespace == 0 {
		table, err = mountslive.Read(ctx, c.fs, 0)
	}
	return forensics.Evidence{Mounts: table}, err
}

// kubeletNamespace reads the kubelet's mount table where it is not the host's.
func (c *collector) kubeletNamespace(ctx context.Context) {
	e := c.seen()
	if e.Kubelet == nil || e.Kubelet.PID == 0 || e.Kubelet.MountNS == 0 || e.Kubelet.MountNS == e.Mounts.Namespace {
		return
	}
	c.read(ctx, forensics.SourceMounts+":kubelet", readLimit, func(ctx context.Context) (forensics.Evidence, error) {
		table, err := mountslive.Read(ctx, c.fs, e.Kubelet.PID)
		return forensics.Evidence{Namespaces: []mounts.Table{table}}, err
	})
}

// kubeletTable is the mount table that the kubelet sees.
func (c *collector) kubeletTable() mounts.Table {
	e := c.seen()
	for _, t := range e.Namespaces {
		if e.Kubelet != nil && t.Namespace == e.Kubelet.MountNS {
			return t
		}
	}
	return e.Mounts
}
