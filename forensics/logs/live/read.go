// Package live finds the logs of a node and reads them for package logs: files and their rotated predecessors (as logrotate,
// lumberjack, klog and the kubelet name them), the containers of static pods, /dev/kmsg, and the journal through journalctl(1).
//
// Nothing blocks the caller: a log on a mount that does not respond is abandoned, and so is a journalctl that does not respond.
package live

import (
	"context"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// Read is [logs.Read] of logs that may not respond. The calls that do not return are recorded in calls.
func Read(ctx context.Context, sources []logs.Source, opt logs.Options, calls *probe.Group) logs.Story {
	opt.Do = func(ctx context.Context, name string, read func() error) error {
		_, err := probe.Do(ctx, calls, name, func() (struct{}, error) { return struct{}{}, read() })
		return err
	}
	return logs.Read(ctx, sources, opt)
}
