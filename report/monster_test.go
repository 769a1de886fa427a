package report_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/report"
)

// monster is a node with 3,000 mounts, 110 pods, 2,000 processes, 5,000 goroutines and 10,000 events in its logs, of
// which no two look alike, and with every tenth mount dead. Names have pad added to their end.
func monster(pad string) report.Report {
	const pods, perPod = 110, 27
	e := forensics.Evidence{
		Root: "/", Collected: time.Date(2026, 11, 20, 10, 46, 12, 0, time.UTC),
		Kubelet: &kubelet.Instance{PID: 900, Version: "1.34.4", RootDir: "/var/lib/kubelet", CanonicalRoot: "/var/lib/kubelet"},
	}
	var a forensics.Analysis
	for p := range pods {
		uid := fmt.Sprintf("%08x-1d2e-4f6b-9b5e-2a7a4c1de201", p)
		dir := kubelet.PodDir{UID: uid, Path: "/var/lib/kubelet/pods/" + uid, HostName: fmt.Sprintf("worker-%d%s", p, pad)}
		for i := range perPod {
			m := monsterMount(p*perPod+i, dir.Path, pad)
			e.Mounts.Mounts = append(e.Mounts.Mounts, m)
			a.MountHealth = append(a.MountHealth, monsterHealth(m, i))
			dir.Volumes = append(dir.Volumes, kubelet.Volume{
				Plugin: "kubernetes.io/csi", Name: fmt.Sprintf("pvc-%d%s", i, pad), Path: m.MountPoint, MountPoints: []string{m.MountPoint},
			})
			if i%10 == 0 {
				a = monsterFinding(a, m, uid, pad)
			}
		}
		e.PodDirs = append(e.PodDirs, dir)
		e.Pods = append(e.Pods, kubelet.Pod{UID: uid, Namespace: "load", Name: dir.HostName, Source: "kubelet", Phase: "Running"})
	}
	for len(e.Mounts.Mounts) < 3000 {
		e.Mounts.Mounts = append(e.Mounts.Mounts, monsterMount(len(e.Mounts.Mounts), "/run/containers", pad))
	}
	for i := range 2000 {
		e.Processes = append(e.Processes, procs.Process{PID: 1000 + i, PPID: 1, Comm: "java", State: "S", Threads: 60, Command: []string{"java", "-jar", fmt.Sprintf("/app/service-%d.jar%s", i, pad)}})
	}
	e.Dumps = []forensics.Dump{{Source: "https://127.0.0.1:10250/debug/pprof/goroutine?debug=2", Dump: monsterDump(pad)}}
	e.Logs = monsterLogs(e, pad)
	for i := range 13 {
		a.Outcomes = append(a.Outcomes, forensics.Outcome{Check: fmt.Sprintf("check-%d", i), Status: forensics.OutcomeFound})
	}
	return report.New(report.Tool{Name: "nodeforensics"}, e, a)
}

// monsterLogs has events all over a day, every pod on its way out, and an operation for each.
func monsterLogs(e forensics.Evidence, pad string) *logs.Story {
	at := func(i int) time.Time { return e.Collected.Add(time.Duration(i-86_400) * time.Second) }
	line := func(i int, text string) logs.Quote {
		when := at(i)
		return logs.Quote{File: "/var/log/kubelet.log" + pad, Line: int64(i), Time: &when, Text: fmt.Sprintf("E1120 %s %d%s", text, i, pad)}
	}
	first, last := at(0), at(86_000)
	s := &logs.Story{
		Files: []logs.File{{Path: "/var/log/kubelet.log" + pad, Origin: "kubelet", Format: "klog", Status: "read", Bytes: 1 << 30, Lines: 1 << 22}},
		First: &first, Last: &last, Lives: []logs.Life{}, Deletions: []logs.Deletion{}, Operations: []logs.Operation{}, Events: []logs.Event{},
		Loop: &logs.Loop{LastSeen: map[string]time.Time{"housekeeping": at(40_000)}, Last: &first, Gaps: []logs.Gap{}},
	}
	kinds := []logs.Kind{logs.KindOrphan, logs.KindUnmountBusy, "image-gc", logs.KindKernelHungTask, logs.KindRuntimeCallFailed, logs.KindPLEGUnhealthy}
	for i := range 10_000 {
		from, to := at(8*i), at(8*i+i%900)
		s.Events = append(s.Events, logs.Event{
			Kind: kinds[i%len(kinds)], Origin: "kubelet", Count: int64(1 + i%70), First: &from, Last: &to,
			Subject: logs.Subject{PodUID: e.Pods[i%len(e.Pods)].UID, Path: fmt.Sprintf("/var/lib/kubelet/pods/%d%s", i, pad), Reason: "no answer" + pad},
			Quotes:  []logs.Quote{line(8*i, "first"), line(8*i+5, "last")},
		})
	}
	for i, p := range e.Pods {
		since := at(500 * i)
		s.Deletions = append(s.Deletions, logs.Deletion{
			PodUID: p.UID, PodName: p.Namespace + "/" + p.Name, Stage: "volumes", Waits: "a volume" + pad, Since: &since, Proven: true,
			Steps:      []logs.Step{{Stage: "requested", Time: at(400 * i), Quote: line(i, "requested")}, {Stage: "volumes", Time: since, Quote: line(i, "volumes")}},
			Complaints: []logs.Quote{line(i, "not cleaned up")},
		})
		s.Operations = append(s.Operations, logs.Operation{
			Subject: logs.Subject{PodUID: p.UID, Volume: "data" + pad}, Name: "UnmountVolume", Started: &since, Failures: 3, Failed: &last,
			Quotes: []logs.Quote{line(i, "failed")},
		})
	}
	return s
}

func monsterMount(i int, below, pad string) mounts.Mount {
	return mounts.Mount{
		ID: 100 + i, ParentID: 27, Device: fmt.Sprintf("0:%d", 100+i), Root: "/", FSType: "nfs4", Class: mounts.ClassNetwork,
		MountPoint: fmt.Sprintf("%s/volumes/kubernetes.io~csi/pvc-7d1c2a70-%06d/mount%s", below, i, pad), Options: "rw,relatime",
		Source:       fmt.Sprintf("10.0.%d.%d:/exports/team-a/pvc-7d1c2a70-%06d%s", i/250, i%250, i, pad),
		SuperOptions: "rw,vers=4.1,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,local_lock=none" + pad,
	}
}

func monsterHealth(m mounts.Mount, i int) mounts.Health {
	h := mounts.Health{MountID: m.ID, Device: m.Device, MountPoint: m.MountPoint, Status: mounts.StatusOK, Method: "probe", Seconds: 0.004, Call: "statx"}
	if i%10 == 0 {
		h.Status, h.Seconds = mounts.StatusHung, 912
	}
	return h
}

func monsterFinding(a forensics.Analysis, m mounts.Mount, uid, pad string) forensics.Analysis {
	e := forensics.Entity{Kind: forensics.KindSuperblock, ID: m.Device}
	title := fmt.Sprintf("nfs4 %s (mount %d) has not answered for 15 min", m.Source, m.ID)
	steps := []forensics.Remedy{{Action: "abort", Command: []string{"umount", "-f", m.MountPoint}, Why: "It ends the waits." + pad, Risk: "Data that was not written is lost." + pad}}
	a.Diagnoses = append(a.Diagnoses, forensics.Diagnosis{
		Severity: forensics.Critical, Confidence: forensics.Certain, Title: title, Root: e, Findings: []int{len(a.Findings)}, Remedies: steps,
		Chain: []forensics.Link{{Kind: e.Kind, ID: e.ID, Text: title}, {Kind: forensics.KindMount, ID: fmt.Sprint(m.ID), Text: m.MountPoint}},
		Pods:  []forensics.AffectedPod{{UID: uid, State: "live"}},
	})
	a.Findings = append(a.Findings, forensics.Finding{
		ID: "mount-hung", Severity: forensics.Critical, Title: title, Subject: e, Confidence: forensics.Certain, Remedies: steps, Pods: []string{uid},
		Refs: []forensics.Ref{{Source: fmt.Sprintf("mounts:%d", m.ID), Excerpt: m.MountPoint + m.Source + m.SuperOptions}},
	})
	return a
}

func monsterDump(pad string) goroutines.Dump {
	d := goroutines.Dump{Form: goroutines.FormDebug2}
	for i := range 5000 {
		g := goroutines.Goroutine{ID: int64(i + 1), Count: 1, State: "chan receive", WaitMinutes: i % 90}
		for depth := range 12 {
			g.Frames = append(g.Frames, goroutines.Frame{
				Func: fmt.Sprintf("k8s.io/kubernetes/pkg/kubelet/part%d.(*Worker).step%d%s", i%700, depth, pad), Args: "0x63d86894a88, {0x63d869ca2a0, 0x24}",
				File: "/go/src/k8s.io/kubernetes/pkg/kubelet/worker.go", Line: 100 + depth,
			})
		}
		d.Goroutines = append(d.Goroutines, g)
	}
	return d
}

func TestMonsterIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]report.Report{
		"real names":         monster(""),
		"names of 4096":      monster(strings.Repeat("x", 4096)),
		"names of 4096 of <": monster(strings.Repeat("<\x1b", 2048)),
	} {
		t.Run(name, func(t *testing.T) {
			html := page(t, r)
			t.Logf("%d bytes", len(html))
			if len(html) > maxPage {
				t.Errorf("page has %d bytes", len(html))
			}
			checkPage(t, html)
			if !strings.Contains(html, "The JSON report has all of them.") {
				t.Error("nothing is said to be cut")
			}
			if out := text(t, r, report.TextOptions{}); strings.Count(out, "\n") > 1500 {
				t.Errorf("terminal text has %d lines", strings.Count(out, "\n"))
			}
		})
	}
}

func BenchmarkHTMLMonster(b *testing.B) {
	r := monster("")
	b.SetBytes(int64(len(page(b, r))))
	b.ReportAllocs()
	for b.Loop() {
		if err := report.HTML(io.Discard, r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHTMLSmall(b *testing.B) {
	r := load(b, "hung-mount")
	b.SetBytes(int64(len(page(b, r))))
	b.ReportAllocs()
	for b.Loop() {
		if err := report.HTML(io.Discard, r); err != nil {
			b.Fatal(err)
		}
	}
}
