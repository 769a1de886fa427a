package report

import "github.com/nodeforensics/nodeforensics/forensics/logs"

// lanes are the lanes of the timeline in the order in which they are drawn.
var lanes = []struct {
	id    logs.Lane
	title string
}{
	{logs.LaneSyncLoop, "Kubelet, sync loop"},
	{logs.LaneDeletions, "Pod deletions"},
	{logs.LaneVolumes, "Volumes"},
	{logs.LaneDisk, "Disk, images, evictions"},
	{logs.LaneRuntime, "Container runtime"},
	{logs.LaneKernel, "Kernel"},
}
