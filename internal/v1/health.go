// Package v1 converts documents of version 1 of evidence and report into the current version. Version 1 judged while it collected;
// the judgements become the measurements behind them.
package v1

import (
	"cmp"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// AddHealth adds the measurements behind the health of mounts to the evidence. Health from blocked threads ("passive") is judged
// again from the threads.
func AddHealth(e *forensics.Evidence, list ...mounts.Health) {
	hungAfter := cmp.Or(e.Collector.HungAfterSeconds, forensics.DefaultHungAfter.Seconds())
	queues := map[string]bool{}
	for _, q := range e.FUSEQueues {
		queues[q.Device] = true
	}
	for _, h := range list {
		e.Probes = append(e.Probes, probe(h, hungAfter))
		if len(h.Waiting) > 0 && !queues[h.Device] {
			queues[h.Device] = true
			e.FUSEQueues = append(e.FUSEQueues, mounts.FUSEQueue{Device: h.Device, Requests: h.Waiting})
		}
		if h.Method == mounts.MethodPassive && h.Status == mounts.StatusOK { // its disk made progress
			e.DiskProgress = append(e.DiskProgress, mounts.DiskProgress{Device: h.Device, Completed: 1})
		}
	}
}

// probe is the measurement behind a health, as far as version 1 has it. hungAfter is the limit of that judgement.
func probe(h mounts.Health, hungAfter float64) mounts.Probe {
	p := mounts.Probe{MountID: h.MountID, Device: h.Device, MountPoint: h.MountPoint, Call: h.Call, Seconds: h.Seconds, Since: h.Since}
	if h.Method == mounts.MethodPassive {
		return mounts.Probe{MountID: h.MountID, Device: h.Device, MountPoint: h.MountPoint, Skipped: mounts.SkipWaited}
	}
	switch h.Status {
	case mounts.StatusNotProbed:
		return mounts.Probe{MountID: h.MountID, Device: h.Device, MountPoint: h.MountPoint, Error: cmp.Or(strings.TrimPrefix(h.Reason, "was not asked: "), "unknown")}
	case mounts.StatusHung:
		p.Pending, p.Awake = true, max(hungAfter, h.Seconds)
	case mounts.StatusUnanswered:
		p.Pending = true
	case mounts.StatusRecovered:
		p.Pending, p.Returned = true, true
	case mounts.StatusFrozen:
		p.Suspended = true
	case mounts.StatusSlow:
		p.Seconds = max(h.Seconds, 1)
	case mounts.StatusOK:
		p.Seconds = min(h.Seconds, 0.999)
	case mounts.StatusStale, mounts.StatusDisconnected, mounts.StatusIOError, mounts.StatusDenied:
		p.Error = cmp.Or(h.Error, string(h.Status))
		p.Errno = map[mounts.Status]string{
			mounts.StatusStale: "ESTALE", mounts.StatusDisconnected: "ENOTCONN", mounts.StatusIOError: "EIO", mounts.StatusDenied: "EACCES",
		}[h.Status]
	}
	return p
}
