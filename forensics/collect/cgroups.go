package collect

import (
	"context"

	"github.com/nodeforensics/nodeforensics/forensics"
	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
)

func (c *collector) cgroups(ctx context.Context) (forensics.Evidence, error) {
	found, err := runtimeslive.ReadCgroups(ctx, c.fs)
	return forensics.Evidence{Cgroups: found.Pods, CgroupTotals: &found.Totals}, err
}
