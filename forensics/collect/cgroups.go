package collect

import (
	"context"

	"github.com/nodeforensics/nodeforensics/forensics"
	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
)

func (c *collector) cgroups(ctx context.Context) (forensics.Evidence, error) {
	var known []string
	for _, p := range c.seen().Processes {
		if p.PodUID != "" {
			known = append(known, p.Cgroup)
		}
	}
	found, err := runtimeslive.ReadCgroups(ctx, c.fs, known...)
	return forensics.Evidence{Cgroups: found.Pods, CgroupTotals: &found.Totals}, err
}
