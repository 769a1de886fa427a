package collect

import (
	"context"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

func (c *collector) podLogs(ctx context.Context) (forensics.Evidence, error) {
	dir := "/var/log/pods"
	if k := c.seen().Kubelet; k != nil && k.Config != nil && k.Config.PodLogsDir != "" {
		dir = k.Config.PodLogsDir
	}
	pods, err := kubelet.LogDirs(ctx, c.fs, dir)
	return forensics.Evidence{Pods: pods}, err
}

// podLogsDir is the kubelet's podLogsDir, "" for the default.
func (c *collector) podLogsDir() string {
	if k := c.seen().Kubelet; k != nil && k.Config != nil {
		return k.Config.PodLogsDir
	}
	return ""
}
