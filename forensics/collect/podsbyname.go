package collect

import (
	"context"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/podname"
)

// podsByName looks for the pods that queries name as namespace/name: in the kubelet's directory of container logs, and if that does
// not have them all, in the files of the container runtimes. No server is asked.
func (c *collector) podsByName(ctx context.Context, queries []string) {
	unknown := func() bool {
		pods := c.seen().Pods
		return slices.ContainsFunc(queries, func(q string) bool { return podname.Is(q) && len(podname.UIDs(pods, q)) == 0 })
	}
	if unknown() {
		c.read(ctx, forensics.SourcePodLogs, readLimit, c.podLogs)
	}
	if unknown() {
		c.read(ctx, forensics.SourceRuntime, readLimit, c.runtimeFiles)
	}
}

// meant are the queries with the UIDs of pods instead of their names.
func (c *collector) meant(queries []string) (list []string) {
	pods := c.seen().Pods
	for _, q := range queries {
		if podname.Is(q) {
			list = append(list, podname.UIDs(pods, q)...)
		} else {
			list = append(list, q)
		}
	}
	return list
}
