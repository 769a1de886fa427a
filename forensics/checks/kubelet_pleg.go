package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

var plegEntity = forensics.Entity{Kind: forensics.KindSubsystem, ID: "pleg"}

// relistThreshold is the age in seconds of the last relist from which the kubelet calls the PLEG unhealthy, and its sync
// loop skips (pkg/kubelet/pleg/generic.go, 1.10 to 1.36; 10 minutes with the evented PLEG).
const relistThreshold = 180

// KubeletPLEGUnhealthy finds a PLEG that does not get through its relist.
var KubeletPLEGUnhealthy = forensics.Check{
	ID:    "kubelet-pleg-unhealthy",
	Title: "The PLEG does not get through its list of containers",
	Doc: `Every second the kubelet's pod lifecycle event generator lists all containers (pkg/kubelet/pleg: relist up to
1.25, Relist from 1.26 on, on a worker of its own from 1.36 on). After 3 minutes without one the kubelet calls it
unhealthy and skips its sync loop. It waits for the container runtime, in a question of its list or of the status of one
pod: that is a daemon that does not answer, not a file system. Up to 1.13 it can also wait to send into a full channel that
the sync loop does not empty, because that hangs itself or skips for ever since the PLEG is unhealthy: only a restart
of the kubelet cures that (kubernetes issue 72482). From 1.14 on it drops events instead.

It rests on a goroutine with relist on its stack that waits, and of which the dump gives an age. A single question ends
after 2 minutes and is tried again, so that a dump rarely proves more; it is critical from 3 minutes on, and else a
warning. Or it rests on the kubelet's log, where the kubelet says so itself ("PLEG is not healthy: pleg was last seen
active 3m5s ago", "GenericPLEG: Unable to retrieve pods"): that gives the moment since when, and the reason. It is
critical if that was still said when the log ended, and the log reaches the examination; what was over by then is
information. In the first minute after a start it is normal.`,
	Severity: forensics.Critical,
	Needs:    []forensics.Need{{forensics.SourceGoroutines, forensics.SourceLogs}},
	Run: func(p *forensics.Pass) {
		orKubeletLog(p, forensics.SourceGoroutines)
		told := plegInLog(p)
		list := allStanding(p, "pleg.(*GenericPLEG).relist", "pleg.(*GenericPLEG).Relist", "pleg.(*GenericPLEG).relistPod")
		if len(list) == 0 {
			if told != nil {
				p.Report(told.finding(p))
			}
			return
		}
		worst := list[0]
		f := finding(p, plegEntity, "PLEG has not got through its list of containers", list[:1], []site{
			{"pleg.(*GenericPLEG).updateCache", "1.10 to 1.36", "asks for the status of one pod"},
			{"pleg.(*GenericPLEG).relistPod", "1.36", "asks for one pod"},
		})
		f.Severity = notCritical(f.Severity)
		if worst.proven && worst.seconds >= relistThreshold {
			f.Severity = forensics.Critical
		}
		f.Detail = sentences("After 3 minutes the kubelet calls its PLEG unhealthy and starts, changes and removes no pod.", f.Detail)
		switch worst.wait.kind {
		case waitRuntime:
			f.Detail = sentences(f.Detail, "It waits for a daemon, the container runtime, not for a file system.")
		case waitSend:
			f.Because = []forensics.Entity{sendCause(p)}
			f.Detail = sentences(f.Detail, "The channel is full because the sync loop takes nothing from it (kubelet 1.13 and older).")
		}
		f.Remedies = []forensics.Remedy{keepEvidence()}
		p.Report(told.join(p, f))
	},
}

// sendCause is why nobody takes events from the PLEG: housekeeping where that is stuck, else the sync loop.
func sendCause(p *forensics.Pass) forensics.Entity {
	if list, alone := blockedHousekeeping(p); len(list) > 0 || alone != nil {
		return housekeepingEntity
	}
	return syncLoopEntity
}
