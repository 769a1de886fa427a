package checks

import (
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// both makes several changes.
func both(changes ...func(testing.TB, *forensics.Evidence)) func(testing.TB, *forensics.Evidence) {
	return func(tb testing.TB, e *forensics.Evidence) {
		for _, change := range changes {
			change(tb, e)
		}
	}
}

// logAlone leaves nothing but the story, as when a log is judged at a desk.
func logAlone(_ testing.TB, e *forensics.Evidence) {
	story := e.Logs
	*e = forensics.NewEvidence()
	e.Logs = story
	e.Cover(forensics.Source{Source: forensics.SourceLogs, Status: forensics.SourceRead})
}

// silentSince makes the sync loop fall silent while others go on.
func silentSince(clock string, others int64) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		l := e.Logs.Loop
		l.Last, l.Quote, l.OthersCount = at(clock), line(7000, clock, "SyncLoop (housekeeping)"), others
		l.LastSeen = map[string]time.Time{"housekeeping": *at(clock)}
	}
}

// later makes the examination happen hours after the log ended.
func later(_ testing.TB, e *forensics.Evidence) { e.Collected = e.Collected.Add(3 * time.Hour) }

func atLowVerbosity(_ testing.TB, e *forensics.Evidence) {
	e.Logs.Loop.Cadence, e.Logs.Loop.Last, e.Logs.Loop.LastSeen = 0, nil, map[string]time.Time{}
	e.Logs.Lives[0].Verbosity = 2
}

// lives replaces the kubelet's lives: each ended in its way, the last as it says.
func lives(list ...logs.Life) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) { e.Logs.Lives = list }
}

func life(pid int, from, to string, end logs.End, stage logs.StartStage) logs.Life {
	l := logs.Life{PID: pid, Started: at(from), Last: at(to), Version: "v1.17.4", Verbosity: 4, Stage: stage, End: end}
	if end != logs.EndRunning {
		l.EndQuote = line(int64(pid), to, "the end of "+string(end))
	}
	return l
}

// deleting adds a pod on its way out, which stands at a stage since a time of day.
func deleting(stage logs.Stage, since string, change func(*logs.Deletion)) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		d := logs.Deletion{
			PodUID: deadUID, PodName: "default/db", Stage: stage, Since: at(since), Proven: true, Complaints: []logs.Quote{},
			Steps: []logs.Step{
				{Stage: logs.StageRequested, Time: *at("10:00:00"), Quote: *line(10, "10:00:00", "SyncLoop DELETE")},
				{Stage: stage, Time: *at(since), Quote: *line(11, since, "stage "+string(stage))},
			},
		}
		if change != nil {
			change(&d)
		}
		e.Logs.Deletions = append(e.Logs.Deletions, d)
	}
}

// overdue is the pod in a dump of the API: to go since 10:00:30.
func overdue(_ testing.TB, e *forensics.Evidence) {
	e.Cluster.Pods = append(e.Cluster.Pods, apidump.Pod{
		Object: apidump.Object{UID: deadUID, Namespace: "default", Name: "db", Deleting: at("10:00:30")}, Node: e.Node.Name, Phase: "Running",
	})
}

func grace(seconds int64) func(*logs.Deletion) {
	return func(d *logs.Deletion) { d.GraceSeconds = &seconds }
}

func unproven(d *logs.Deletion) { d.Proven = false }

func done(d *logs.Deletion) { d.Done, d.Stage = true, "removed" }

var (
	deadVolume = logs.Subject{
		PodUID: deadUID, Volume: "cephfs-data", UniqueName: "kubernetes.io/cephfs/" + deadUID + "-cephfs-data",
		Path: deadPoint, Code: "EBUSY", Reason: "umount: " + deadPoint + ": 目标忙",
	}
	csiVolume = logs.Subject{PodUID: deadUID, Volume: "pvc-1", UniqueName: "kubernetes.io/csi/nfs.csi.k8s.io^h#1", Driver: "nfs.csi.k8s.io"}
	pleg      = logs.Subject{Reason: "container runtime is down; PLEG is not healthy: pleg was last seen active too long ago"}
	down      = logs.Subject{Reason: "container runtime is down"}
)

// numbered gives an event its number.
func numbered(e logs.Event, n float64) logs.Event {
	e.Number, e.Max = n, n
	return e
}

func code(s logs.Subject, code string) logs.Subject {
	s.Code = code
	return s
}

// fromKernel makes an event one of the kernel's log.
func fromKernel(e logs.Event) logs.Event {
	e.Origin = "kernel"
	for i := range e.Quotes {
		e.Quotes[i].File = "/dev/kmsg"
	}
	return e
}

// operation adds a volume operation that was started, and failed unless failed is "".
func operation(name, started, failed string, about logs.Subject) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		o := logs.Operation{Subject: about, Name: name, Started: at(started), Quotes: []logs.Quote{*line(50, started, name+" started")}}
		if failed != "" {
			o.Failed, o.Failures = at(failed), 3
		}
		e.Logs.Operations = append(e.Logs.Operations, o)
	}
}
