package checks

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

// withBacking adds what the kernel's tables show of the server of the file system that is ill.
func withBacking(fault backing.Fault, why string) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		e.Backings = []backing.Backing{{Device: "0:47", Disks: []backing.DiskState{}, Connections: []backing.Connection{}, Fault: fault, Why: why}}
	}
}

var _ = scenariosOf("mount-hung", []scenario{
	{name: "dead FUSE mount below the kubelet", base: sickNode, want: []string{"critical superblock 0:47"}, says: "has not responded for 12 min"},
	{name: "dead mount elsewhere, nobody of the kubelet waits", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		status(mounts.StatusHung)(tb, e)
		e.Mounts.Mounts[2].MountPoint, e.Probes[1].MountPoint = "/mnt/nfs", "/mnt/nfs"
		e.Threads = nil
	}, want: []string{"warning superblock 0:47"}},
	{name: "dead mount elsewhere that the kubelet waits for", base: sickNode, change: func(_ testing.TB, e *forensics.Evidence) {
		e.Mounts.Mounts[2].MountPoint, e.Probes[1].MountPoint, e.Threads[0].Path = "/mnt/nfs", "/mnt/nfs", "/mnt/nfs"
	}, want: []string{"critical superblock 0:47"}},
	{name: "thirty bind mounts of one superblock are one finding", base: sickNode, change: func(_ testing.TB, e *forensics.Evidence) {
		for i := range 30 {
			m := e.Mounts.Mounts[2]
			m.ID = 100 + i
			m.MountPoint = kubeletRoot + "/pods/" + deadUID + "/volume-subpaths/cephfs-data/app/" + string(rune('a'+i))
			p := e.Probes[1]
			p.MountID, p.MountPoint = m.ID, m.MountPoint
			e.Mounts.Mounts, e.Probes = append(e.Mounts.Mounts, m), append(e.Probes, p)
		}
	}, want: []string{"critical superblock 0:47"}, says: "and 28 more"},
	{
		name: "the server's host is gone", base: sickNode, change: withBacking(backing.FaultUnreachable, "216 bytes are not acknowledged"),
		want: []string{"critical superblock 0:47"}, says: "The server is not reachable: 216 bytes are not acknowledged.",
	},
	{
		name: "the client is blocklisted", base: sickNode, change: withBacking(backing.FaultBlocklisted, "the cluster says so"),
		want: []string{"critical superblock 0:47"}, says: "The server has evicted this client",
	},
	{name: "slow is not hung", base: sickNode, change: status(mounts.StatusSlow), outcome: forensics.OutcomeClean},
	{name: "recovered is not hung", base: sickNode, change: status(mounts.StatusRecovered), outcome: forensics.OutcomeClean},
	{name: "time ran out before hung-after", base: sickNode, change: status(mounts.StatusUnanswered), outcome: forensics.OutcomeNotChecked},
	{name: "well", base: wellNode, outcome: forensics.OutcomeClean},
})

var _ = scenariosOf("mount-slow", []scenario{
	{name: "answered late", base: sickNode, change: status(mounts.StatusSlow), want: []string{"warning superblock 0:47"}, says: "is slow"},
	{name: "recovered", base: sickNode, change: status(mounts.StatusRecovered), want: []string{"warning superblock 0:47"}, says: "has recovered"},
	{name: "hung is not slow", base: sickNode},
})

var _ = scenariosOf("mount-frozen", []scenario{
	{name: "frozen", base: sickNode, change: status(mounts.StatusFrozen), want: []string{"warning superblock 0:47"}, says: "frozen"},
	{
		name: "suspended", base: sickNode, change: both(status(mounts.StatusFrozen), withBacking(backing.FaultSuspended, "dm-0 is suspended")),
		want: []string{"warning superblock 0:47"}, says: "The disk is suspended: dm-0 is suspended.",
	},
	{name: "hung is not frozen", base: sickNode},
})

var _ = scenariosOf("mount-stale", []scenario{
	{name: "stale", base: sickNode, change: status(mounts.StatusStale), want: []string{"warning superblock 0:47"}, says: "stale"},
	{name: "disconnected is not stale", base: sickNode, change: status(mounts.StatusDisconnected)},
})

var _ = scenariosOf("mount-disconnected", []scenario{
	{name: "disconnected", base: sickNode, change: status(mounts.StatusDisconnected), want: []string{"warning superblock 0:47"}},
	{
		name: "a blocklisted CephFS client answers EACCES", base: sickNode, change: both(status(mounts.StatusDenied), withBacking(backing.FaultBlocklisted, "so it is")),
		want: []string{"warning superblock 0:47"}, says: "The server has evicted this client: so it is.",
	},
	{name: "permission denied says nothing else", base: sickNode, change: status(mounts.StatusDenied)},
	{name: "SMB heals", base: sickNode, change: both(status(mounts.StatusDisconnected), func(_ testing.TB, e *forensics.Evidence) {
		e.Mounts.Mounts[2].FSType, e.Mounts.Mounts[2].Class = "cifs", mounts.ClassNetwork
	}), want: []string{"warning superblock 0:47"}, says: "tries by itself to reconnect"},
	{name: "stale is not disconnected", base: sickNode, change: status(mounts.StatusStale)},
})

var _ = scenariosOf("mount-io-error", []scenario{
	{name: "error", base: sickNode, change: status(mounts.StatusIOError), want: []string{"warning superblock 0:47"}},
	{
		name: "a disk that is offline, and a mount that answers", base: sickNode, change: both(status(mounts.StatusOK), withBacking(backing.FaultOffline, "sdb is offline")),
		want: []string{"warning superblock 0:47"}, says: "The disk does not accept requests: sdb is offline.",
	},
	{name: "a busy disk", base: sickNode, change: both(status(mounts.StatusOK), withBacking(backing.FaultBusy, "2 requests are on their way"))},
	{name: "no permission is not an error of the device", base: sickNode, change: status(mounts.StatusDenied)},
})

var _ = scenariosOf("mount-orphaned", []scenario{
	{name: "mount of a pod that is gone", base: sickNode, want: []string{"info mount 60"}},
	{name: "mount of a live pod", base: wellNode},
	{name: "pod with a process", base: sickNode, change: func(_ testing.TB, e *forensics.Evidence) { e.Processes[1].PodUID = deadUID }},
})

var _ = scenariosOf("thread-blocked", []scenario{
	{name: "state S counts", base: sickNode, want: []string{"warning thread 9825/9839"}, says: "12 min"},
	{name: "threads of one process are one finding", base: sickNode, change: func(_ testing.TB, e *forensics.Evidence) {
		t := e.Threads[0]
		t.TID, t.WaitSeconds = 9840, ptr(100.0)
		e.Threads = append(e.Threads, t)
	}, want: []string{"warning thread 9825/9839"}, says: "2 threads"},
	{name: "it went on", base: sickNode, change: func(_ testing.TB, e *forensics.Evidence) { e.Threads[0].Gone = true }},
	{name: "shorter than hung-after", base: sickNode, change: func(_ testing.TB, e *forensics.Evidence) {
		e.Threads[0].WaitSeconds, e.Dumps = ptr(14.0), nil
	}},
	{name: "part of the kernel and meaning", base: sickNode, want: []string{"warning thread 9825/9839"}, says: "The wait is in the kernel's FUSE client."},
	{
		name: "what is behind", base: sickNode, change: withBacking(backing.FaultSilent, "7 requests are on their way"),
		want: []string{"warning thread 9825/9839"}, says: "The server is reachable and does not respond: 7 requests",
	},
	{name: "no age is proven", base: sickNode, change: func(_ testing.TB, e *forensics.Evidence) {
		e.Threads[0].WaitSeconds, e.Dumps = nil, nil
	}},
	{name: "dirty page throttling", base: sickNode, change: func(_ testing.TB, e *forensics.Evidence) {
		e.Threads[0].Wait.Kind = procs.WaitWriteback
	}},
})

var _ = scenariosOf("kubelet-housekeeping-blocked", []scenario{
	{
		name: "goroutine and thread", base: sickNode, want: []string{"critical subsystem housekeeping"},
		says: "Goroutine 117 (sync loop) = thread 9825/9839 is in newfstatat(\"" + deadPoint + "\"), waiting in request_wait_answer",
	},
	{name: "dump alone", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		*e = forensics.NewEvidence()
		addDump(tb, e, housekeepingDump, 0)
		e.Cover(forensics.Source{Source: "goroutines:dump", Status: forensics.SourceRead})
	}, want: []string{"critical subsystem housekeeping"}, says: "is in os.Stat"},
	{name: "dump alone with a mount table names candidates by length", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		table := e.Mounts
		*e = forensics.NewEvidence()
		e.Mounts = table
		addDump(tb, e, housekeepingDump, 0)
		e.Cover(forensics.Source{Source: "goroutines:dump", Status: forensics.SourceRead})
	}, want: []string{"critical subsystem housekeeping"}, says: deadPoint},
	{name: "no dump, health failed", base: sickNode, change: noDump, want: []string{"critical subsystem housekeeping"}, says: "Thread 9825/9839 is in newfstatat"},
	{name: "no dump, health unknown, pod orphaned", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		noDump(tb, e)
		e.Kubelet.Endpoints = nil
	}, want: []string{"critical subsystem housekeeping"}},
	{name: "no dump, health unknown, pod live", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		noDump(tb, e)
		e.Kubelet.Endpoints = nil
		e.Processes[1].PodUID = deadUID
	}, outcome: forensics.OutcomeNotChecked},
	{name: "the key frame is missing", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		addDump(tb, e, dropFrame(housekeepingDump, "HandlePodCleanups"), 9825)
	}, outcome: forensics.OutcomeClean},
	{name: "under a minute and no thread", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		addDump(tb, e, strings.Replace(housekeepingDump, ", 12 minutes", "", 1), 9825)
		e.Threads = nil
	}, outcome: forensics.OutcomeClean},
	{name: "it went on before the second look", base: sickNode, change: func(_ testing.TB, e *forensics.Evidence) {
		e.Threads[0].Gone = true
	}, outcome: forensics.OutcomeClean},
	{name: "waiting in the sync loop's select", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
		addDump(tb, e, strings.Replace(dropFrame(housekeepingDump, "HandlePodCleanups"), "syscall, 12 minutes", "select, 12 minutes", 1), 9825)
	}, outcome: forensics.OutcomeClean},
})

var _ = scenariosOf("kubelet-syncloop-stalled", []scenario{
	{name: "unexplained", base: wellNode, change: func(_ testing.TB, e *forensics.Evidence) {
		e.Kubelet.Endpoints[0] = kubelet.Endpoint{URL: "http://127.0.0.1:10255/healthz", Status: "unhealthy", Code: 500, Failed: []string{"syncloop"}}
	}, want: []string{"critical subsystem syncloop"}, says: "http://127.0.0.1:10248/healthz?verbose still says ok"},
	{name: "explained by housekeeping", base: sickNode, want: []string{"warning subsystem syncloop"}},
	{name: "another check failed", base: wellNode, change: func(_ testing.TB, e *forensics.Evidence) {
		e.Kubelet.Endpoints[0] = kubelet.Endpoint{URL: "http://127.0.0.1:10255/healthz", Status: "unhealthy", Code: 500, Failed: []string{"log"}, Passed: []string{"syncloop"}}
	}, outcome: forensics.OutcomeClean},
	{name: "only the blind port answered", base: wellNode, change: func(_ testing.TB, e *forensics.Evidence) {
		e.Kubelet.Endpoints = e.Kubelet.Endpoints[1:]
	}, outcome: forensics.OutcomeNotChecked},
})

var _ = scenariosOf("kubelet-not-running", []scenario{
	{
		name: "stopped by a signal", base: wellNode, change: func(_ testing.TB, e *forensics.Evidence) { e.Kubelet.State = "T" },
		want: []string{"critical kubelet 9825"}, says: "is stopped",
	},
	{
		name: "gone while pods run", base: wellNode, change: gone("unit /etc/systemd/system/kubelet.service"),
		want: []string{"critical kubelet kubelet"}, says: "1 pod still run",
	},
	{name: "gone, nothing runs", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
		gone("directory /var/lib/kubelet/pods")(tb, e)
		e.Processes[1].PodUID = ""
	}, want: []string{"warning kubelet kubelet"}},
	{name: "not a kubelet's node", base: wellNode, change: gone(""), outcome: forensics.OutcomeClean},
	{
		name: "gone, and a process calls itself so", base: wellNode, change: posing("unit /etc/systemd/system/kubelet.service"),
		want: []string{"critical kubelet kubelet"}, says: "process 4711 calls itself kubelet, but is in the cgroup of pod " + deadUID,
	},
	{
		name: "none is expected, and a process calls itself so", base: wellNode, change: posing(""),
		want: []string{"info kubelet kubelet"}, says: "kubelet is not running and not expected; process 4711 only calls itself kubelet",
	},
	{
		name: "runs, and another process calls itself so", base: wellNode, change: func(_ testing.TB, e *forensics.Evidence) {
			e.Kubelet.Impostors = []kubelet.Impostor{{PID: 4711, Reason: "runs as uid 65534, not as root"}}
		}, outcome: forensics.OutcomeClean,
	},
})

var _ = scenariosOf("pod-orphaned", []scenario{
	{name: "volume directory left over", base: sickNode, change: unmounted, want: []string{"warning pod " + deadUID}},
	{name: "nothing left over", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		unmounted(tb, e)
		e.PodDirs[1].Volumes = nil
	}, want: []string{"info pod " + deadUID}},
	{name: "an empty list proves nothing", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		unmounted(tb, e)
		e.Pods = nil
	}, outcome: forensics.OutcomeNotChecked},
	{name: "a pod that terminates has a cgroup", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		unmounted(tb, e)
		e.Cgroups[0].PodUID = deadUID
	}, outcome: forensics.OutcomeClean},
	{name: "processes were not seen", base: sickNode, change: func(tb testing.TB, e *forensics.Evidence) {
		unmounted(tb, e)
		e.Cover(forensics.Source{Source: forensics.SourceProcesses, Status: forensics.SourceDenied})
	}, outcome: forensics.OutcomeNotChecked},
	{name: "still mounted is another check", base: sickNode},
})

var _ = scenariosOf("pod-orphaned-mounted", []scenario{
	{name: "mounted", base: sickNode, want: []string{"warning pod " + deadUID}},
	{name: "not mounted is another check", base: sickNode, change: unmounted},
	{name: "a live pod's mounts", base: wellNode, outcome: forensics.OutcomeClean},
})

func status(s mounts.Status) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		e.Probes = e.Probes[:1]
		took := 740.0
		if s == mounts.StatusOK {
			took = 0.0002
		}
		v1.AddHealth(e, mounts.Health{MountID: 60, Device: "0:47", MountPoint: deadPoint, Status: s, Method: mounts.MethodProbe, Call: "statx", Seconds: took})
	}
}

func noDump(_ testing.TB, e *forensics.Evidence) {
	e.Dumps = nil
	e.Cover(forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceDenied, Detail: "403"})
}

func unmounted(_ testing.TB, e *forensics.Evidence) {
	e.Mounts.Mounts = e.Mounts.Mounts[:2]
	e.PodDirs[1].Volumes[0].MountPoints = nil
}

// posing is [gone] with a process of a pod that calls itself kubelet.
func posing(expected string) func(testing.TB, *forensics.Evidence) {
	return func(tb testing.TB, e *forensics.Evidence) {
		gone(expected)(tb, e)
		e.Kubelet.Impostors = []kubelet.Impostor{{PID: 4711, Reason: "is in the cgroup of pod " + deadUID}}
	}
}

func gone(expected string) func(testing.TB, *forensics.Evidence) {
	return func(_ testing.TB, e *forensics.Evidence) {
		e.Kubelet.PID, e.Kubelet.State, e.Kubelet.Endpoints, e.Kubelet.Expected = 0, "", nil, expected
	}
}

// dropFrame removes a function and its position from a dump.
func dropFrame(dump, function string) string {
	lines := strings.Split(dump, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.Contains(lines[i], function) && !strings.HasPrefix(lines[i], "\t") {
			lines = slices.Delete(lines, i, i+2)
			i--
		}
	}
	return strings.Join(lines, "\n")
}

func TestRemedies(t *testing.T) {
	for _, evidence := range []forensics.Evidence{sickNode(t), wellNode(t)} {
		for _, f := range forensics.Analyze(&evidence, All()).Findings {
			if f.ConfidenceWhy == "" {
				t.Errorf("%s: no reason for its confidence", f.ID)
			}
			for _, r := range f.Remedies {
				if r.String() == "" || r.Why == "" || r.Risk == "" {
					t.Errorf("%s: remedy without command, reason or risk: %+v", f.ID, r)
				}
				if strings.Contains(r.String(), "rm -rf") {
					t.Errorf("%s suggests %s", f.ID, r.String())
				}
			}
		}
	}
}

// TestDiagnosis follows the chain from the dead file server to the kubelet.
func TestDiagnosis(t *testing.T) {
	e := sickNode(t)
	a := forensics.Analyze(&e, All())
	if len(a.Diagnoses) != 1 {
		t.Fatalf("%d diagnoses; want 1: %+v", len(a.Diagnoses), a.Diagnoses)
	}
	d := a.Diagnoses[0]
	var chain []string
	for _, link := range d.Chain {
		chain = append(chain, string(link.Kind)+" "+link.ID)
	}
	want := []string{
		"superblock 0:47", "mount 60", "thread 9825/9839", "goroutine 117", "subsystem housekeeping", "subsystem syncloop", "kubelet 9825",
	}
	if !slices.Equal(chain, want) {
		t.Errorf("chain = %q; want %q", chain, want)
	}
	if d.Severity != forensics.Critical || d.Confidence != forensics.Certain || d.Root.String() != "superblock 0:47" {
		t.Errorf("diagnosis = %s %s, root %s; want critical, certain, superblock 0:47", d.Severity, d.Confidence, d.Root)
	}
	for _, part := range []string{"117", "9825/9839", deadPoint, "10.0.0.5:6789:/k8s", "mount 60", deadUID, "node-1", "kubelet 1.17.4"} {
		if !strings.Contains(d.Paragraph, part) {
			t.Errorf("the paragraph does not name %s:\n%s", part, d.Paragraph)
		}
	}
	if len(d.Pods) != 1 || d.Pods[0].UID != deadUID || d.Pods[0].State != "orphaned" {
		t.Errorf("pods = %+v; want the orphaned one", d.Pods)
	}
	if len(d.Remedies) == 0 || !strings.HasPrefix(d.Remedies[0].String(), "kubectl cordon") {
		t.Errorf("first remedy = %+v; want a cordon", d.Remedies)
	}
}

// TestTwoDeadMounts has a second dead mount that blocks nothing: the chain must name the one that blocks.
func TestTwoDeadMounts(t *testing.T) {
	e := sickNode(t)
	other := e.Mounts.Mounts[2]
	other.ID, other.Device, other.Source = 61, "0:48", "10.0.0.6:/other"
	other.MountPoint = strings.Replace(deadPoint, "cephfs-data", "other-data!", 1)
	v1.AddHealth(&e, mounts.Health{MountID: 61, Device: "0:48", MountPoint: other.MountPoint, Status: mounts.StatusHung, Method: mounts.MethodProbe, Seconds: 740})
	e.Mounts.Mounts = append(e.Mounts.Mounts, other)
	a := forensics.Analyze(&e, All())
	if len(a.Diagnoses) < 2 || a.Diagnoses[0].Root.ID != "0:47" || a.Diagnoses[1].Root.ID != "0:48" {
		t.Fatalf("diagnoses = %+v; want 0:47 first, then 0:48", a.Diagnoses)
	}
	for _, link := range a.Diagnoses[1].Chain {
		if link.Kind == forensics.KindSubsystem || link.Kind == forensics.KindKubelet {
			t.Errorf("the mount that blocks nothing is said to block %s %s", link.Kind, link.ID)
		}
	}
}

// TestForeignDump gives a dump of another process: nothing may be joined.
func TestForeignDump(t *testing.T) {
	e := sickNode(t)
	addDump(t, &e, housekeepingDump, 777)
	if joins := forensics.NewModel(&e).Joins(); len(joins) != 0 {
		t.Errorf("joins = %+v; want none", joins)
	}
}

func TestWellNode(t *testing.T) {
	e := wellNode(t)
	a := forensics.Analyze(&e, All())
	if len(a.Findings) != 0 || len(a.Diagnoses) != 0 {
		t.Errorf("findings on a well node: %+v", a.Findings)
	}
	for _, o := range a.Outcomes {
		if o.Status != forensics.OutcomeClean {
			t.Errorf("%s: %s (%s); want clean", o.Check, o.Status, o.Reason)
		}
	}
}
