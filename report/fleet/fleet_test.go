package fleet_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/report"
	"github.com/nodeforensics/nodeforensics/report/fleet"
)

func at(clock string) time.Time {
	t, err := time.Parse(time.DateTime, "2026-11-22 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

// A node is evidence that the checks judge, as they do on a real one.
type node struct {
	name, kernel, version string
	collected             time.Time
	// dead are sources of NFS mounts that do not respond; nfs numbers their superblocks, which differ between nodes.
	dead []string
	nfs  int
	more func(*forensics.Evidence)
}

func (n node) report() report.Report {
	e := forensics.NewEvidence()
	e.Schema, e.Root, e.Collected = forensics.EvidenceSchema, "/", n.collected
	e.Node = forensics.Node{Name: n.name, Kernel: n.kernel, OS: "Debian GNU/Linux 12", Arch: "amd64"}
	e.Kubelet = &kubelet.Instance{PID: 100 + n.nfs, Version: n.version, RootDir: "/var/lib/kubelet", CanonicalRoot: "/var/lib/kubelet"}
	e.Runtimes = []runtimes.Runtime{{Name: "containerd", Version: "2.0.1"}}
	e.Collector.PID, e.Collector.HungAfterSeconds, e.Collector.SlowAfterSeconds = 4000, 15, 1
	e.Mounts.Mounts = []mounts.Mount{{ID: 1, Device: "8:1", Root: "/", MountPoint: "/", FSType: "ext4", Class: mounts.ClassBlock, Source: "/dev/sda1"}}
	e.Probes = []mounts.Probe{}
	for i, source := range n.dead {
		device, began := fmt.Sprintf("0:%d", 40+n.nfs+i), n.collected.Add(-20*time.Minute)
		m := mounts.Mount{ID: 50 + n.nfs + i, ParentID: 1, Device: device, Root: "/", MountPoint: fmt.Sprintf("/mnt/%d", i), FSType: "nfs4", Class: mounts.ClassNetwork, Source: source}
		e.Mounts.Mounts = append(e.Mounts.Mounts, m)
		e.Probes = append(e.Probes, hung(m, began))
	}
	everythingRead(&e)
	if n.more != nil {
		n.more(&e)
	}
	return report.New(report.Tool{Name: "nodeforensics", Version: "1.2.3", Command: []string{"nodeforensics"}}, e, forensics.Analyze(&e, checks.All()))
}

// hung is a probe that has not returned for 20 minutes.
func hung(m mounts.Mount, since time.Time) mounts.Probe {
	return mounts.Probe{MountID: m.ID, Device: m.Device, MountPoint: m.MountPoint, Call: "statfs", Seconds: 1200, Awake: 1200, Pending: true, Since: &since}
}

// everythingRead says that the sources were read: what the evidence does not have is not there.
func everythingRead(e *forensics.Evidence) {
	for _, source := range []string{
		forensics.SourceMounts, forensics.SourceHealth, forensics.SourceProcesses, forensics.SourceThreads, forensics.SourceKubelet,
		forensics.SourcePodDirs, forensics.SourceKubeletPods, forensics.SourceGoroutines, forensics.SourceRuntime, forensics.SourceHolders, forensics.SourceRuntimeAnswer, forensics.SourceKubeletHealth, forensics.SourceDisks,
	} {
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceRead})
	}
}

// summarize reads reports as files of their own.
func summarize(tb testing.TB, nodes ...node) fleet.Summary {
	tb.Helper()
	var r fleet.Reader
	for _, n := range nodes {
		if err := r.Read(n.name+".json", n.name+".html", bytes.NewReader(jsonOf(tb, n.report()))); err != nil {
			tb.Fatalf("%s: %v", n.name, err)
		}
	}
	return r.Summary()
}

func jsonOf(tb testing.TB, r report.Report) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// rows are the causes in short.
func rows(s fleet.Summary) (list []string) {
	for _, c := range s.Causes {
		var names []string
		for _, n := range c.Nodes {
			names = append(names, n.Node)
		}
		line := fmt.Sprintf("%s: %s: %s", c.Severity, c.Title, strings.Join(names, " "))
		if c.Doubt != "" {
			line += ", each may have its own"
		}
		list = append(list, line)
	}
	return list
}

func TestCausesAreJoined(t *testing.T) {
	one := func(e *forensics.Evidence, probe mounts.Probe, m mounts.Mount) {
		e.Mounts.Mounts = append(e.Mounts.Mounts, m)
		probe.MountID, probe.Device, probe.MountPoint = m.ID, m.Device, m.MountPoint
		e.Probes = append(e.Probes, probe)
	}
	slow := func(source string) func(*forensics.Evidence) {
		return func(e *forensics.Evidence) {
			one(e, mounts.Probe{Call: "statfs", Seconds: 4}, mounts.Mount{ID: 70, ParentID: 1, Device: "0:70", Root: "/", MountPoint: "/mnt/s", FSType: "nfs", Class: mounts.ClassNetwork, Source: source})
		}
	}
	fuse := func(fsType, source string) func(*forensics.Evidence) {
		return func(e *forensics.Evidence) {
			m := mounts.Mount{ID: 71, ParentID: 1, Device: "0:71", Root: "/", MountPoint: "/mnt/f", FSType: fsType, Class: mounts.ClassFUSE, Source: source}
			one(e, hung(m, at("09:50:00")), m)
		}
	}
	local := func(e *forensics.Evidence) {
		m := mounts.Mount{ID: 72, ParentID: 1, Device: "8:17", Root: "/", MountPoint: "/mnt/d", FSType: "ext4", Class: mounts.ClassBlock, Source: "/dev/sdb1"}
		one(e, hung(m, at("09:50:00")), m)
	}
	for _, tt := range []struct {
		name  string
		nodes []node
		want  []string
	}{
		{
			"one server, other superblocks",
			[]node{{name: "a", dead: []string{"10.0.0.5:/export"}, collected: at("10:10:00")}, {name: "b", nfs: 9, dead: []string{"10.0.0.5:/export"}, collected: at("10:05:00")}},
			[]string{"warning: NFS 10.0.0.5:/export has not responded: b a"},
		},
		{
			"two servers, equal superblocks",
			[]node{{name: "a", dead: []string{"10.0.0.5:/export"}, collected: at("10:10:00")}, {name: "b", dead: []string{"10.0.0.6:/export"}, collected: at("10:05:00")}},
			[]string{"warning: NFS 10.0.0.5:/export has not responded: a", "warning: NFS 10.0.0.6:/export has not responded: b"},
		},
		{
			"two exports of one server",
			[]node{{name: "a", dead: []string{"10.0.0.5:/a", "10.0.0.5:/b"}, collected: at("10:10:00")}, {name: "b", dead: []string{"10.0.0.5:/c"}, collected: at("10:15:00")}},
			[]string{"warning: NFS 10.0.0.5 (3 mounts) has not responded: a b"},
		},
		{
			"dead here and slow there",
			[]node{{name: "a", dead: []string{"10.0.0.5:/export"}, collected: at("10:10:00")}, {name: "b", collected: at("10:05:00"), more: slow("10.0.0.5:/export")}},
			[]string{"warning: NFS 10.0.0.5:/export has not responded: a b"},
		},
		{
			"FUSE without a server in its source, two sorts",
			[]node{
				{name: "a", more: fuse("fuse.s3fs", "s3fs"), collected: at("10:10:00")},
				{name: "b", more: fuse("fuse.s3fs", "s3fs"), collected: at("10:10:00")},
				{name: "c", more: fuse("fuse.juicefs", "JuiceFS:vol"), collected: at("10:10:00")},
			},
			[]string{"warning: s3fs has not responded: a b, each may have its own", "warning: JuiceFS JuiceFS:vol has not responded: c"},
		},
		{
			"disks of their own are the same kind of trouble, not one cause",
			[]node{{name: "a", more: local, collected: at("10:10:00")}, {name: "b", more: local, collected: at("10:10:00")}},
			[]string{"warning: ext4 has not responded: a b, each may have its own"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, rows(summarize(t, tt.nodes...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotExaminedIsRead reads the list that "nodeforensics node --all" leaves beside the reports.
func TestNotExaminedIsRead(t *testing.T) {
	const list = `{"schema": "nodeforensics.not-examined/v1", "not_examined": [
		{"node": "worker-9", "reason": "timed out", "tried": [{"way": "DaemonSet", "why": "timed out"}]}, {"node": "worker-8", "reason": "refused"}, 7, {"reason": "no name"}]}`
	var r fleet.Reader
	if err := r.Read("not-examined.json", "", strings.NewReader(strings.Replace(list, " 7,", "", 1))); err != nil {
		t.Fatal(err)
	}
	want := []fleet.Missing{{Node: "worker-8", Reason: "refused"}, {Node: "worker-9", Reason: "timed out"}}
	if diff := cmp.Diff(want, r.Summary().NotExamined); diff != "" {
		t.Error(diff)
	}
	if err := r.Read("not-examined.json", "", strings.NewReader(list)); err == nil {
		t.Error("a number is taken for a node")
	}
}

// TestHeadlineCountsTheNodes: a node without a report is one of the nodes, also if two inputs say that it has none; a file is not.
func TestHeadlineCountsTheNodes(t *testing.T) {
	nodes := `{"kind":"List","items":[{"kind":"Node","metadata":{"name":"a"}},{"kind":"Node","metadata":{"name":"b"}},{"kind":"Node","metadata":{"name":"c"}}]}`
	missing := `{"schema":"nodeforensics.not-examined/v1","not_examined":[{"node":"b","reason":"timed out"}]}`
	for _, tt := range []struct{ name, more, want string }{
		{"all", "", "1 node: 1 well"},
		{"of the API server", nodes, "1 of 3 nodes examined: 1 well; 2 not examined"},
		{"of the list", missing, "1 of 2 nodes examined: 1 well; 1 not examined"},
		{"of both", nodes + missing, "1 of 3 nodes examined: 1 well; 2 not examined"},
		{"a file", "{", "1 node: 1 well; 1 file not read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r fleet.Reader
			var text bytes.Buffer
			n := node{name: "a", collected: at("10:10:00")}
			if err := r.Read("a.json", "", bytes.NewReader(jsonOf(t, n.report()))); err != nil {
				t.Fatal(err)
			}
			if tt.more != "" {
				_ = r.Read("more.json", "", strings.NewReader(tt.more))
			}
			if err := fleet.Text(&text, r.Summary(), report.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			if got, _, _ := strings.Cut(text.String(), "\n"); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
