package collect

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	kubeletlive "github.com/nodeforensics/nodeforensics/forensics/kubelet/live"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

const (
	runningPod = "11111111-1111-4111-8111-111111111111"
	nearMiss   = "22222222-2222-4222-8222-222222222222"
)

// TestPodStatesOfRealThings has a kubelet that gives no list, and a pod of which the directory, the cgroup and the process are real.
func TestPodStatesOfRealThings(t *testing.T) {
	for name, tc := range map[string]struct {
		volume  bool
		cgroup  bool
		process bool
		after   time.Duration // from the last change to the examination
		want    forensics.PodState
	}{
		"nothing but an old directory":                {volume: true, after: 3 * time.Hour, want: forensics.PodPossiblyOrphaned},
		"it waits for its first volume: a cgroup":     {volume: true, cgroup: true, after: 3 * time.Hour, want: forensics.PodLive},
		"a process in its cgroup":                     {volume: true, cgroup: true, process: true, after: 3 * time.Hour, want: forensics.PodLive},
		"a directory that was made a moment ago":      {volume: true, after: time.Second, want: forensics.PodUnknown},
		"evicted or completed: no volumes are left":   {after: 3 * time.Hour, want: forensics.PodUnknown},
		"it waits, and has neither volume nor cgroup": {after: time.Second, want: forensics.PodUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := newCollector(t.Context(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			root := t.TempDir()
			dir := filepath.Join(root, "pods", nearMiss)
			if tc.volume {
				dir = filepath.Join(dir, "volumes/kubernetes.io~csi/pv")
			}
			if err := os.MkdirAll(dir, 0o750); err != nil {
				t.Fatal(err)
			}
			e := withoutList(root, time.Now().UTC().Add(tc.after))
			if tc.cgroup {
				pod := podCgroup(t)
				part, err := c.cgroups(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				e.Cgroups = append(e.Cgroups, only(part.Cgroups)...)
				if tc.process {
					e.Processes = append(e.Processes, processIn(t, c, pod))
				}
			}
			walked, err := kubeletlive.Walk(t.Context(), c.fs, (&mounts.Table{}).Index(), root, kubeletlive.WalkOptions{})
			if err != nil || len(walked) != 1 {
				t.Fatal(walked, err)
			}
			e.PodDirs = append(e.PodDirs, walked...)
			if got, why := forensics.NewModel(&e).PodState(nearMiss); got != tc.want {
				t.Errorf("the pod is %q (%s), want %q", got, why, tc.want)
			}
		})
	}
}

// only keeps the cgroup of the pod that is made here.
func only(list []runtimes.PodCgroup) (kept []runtimes.PodCgroup) {
	for _, cgroup := range list {
		if cgroup.PodUID == nearMiss {
			kept = append(kept, cgroup)
		}
	}
	return kept
}

// podCgroup makes a cgroup of a pod, without a process: of version 2 where there is nothing else, else of one controller of version 1.
func podCgroup(t *testing.T) string {
	t.Helper()
	for _, hierarchy := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/pids"} {
		if _, err := os.Stat(filepath.Join(hierarchy, "cgroup.procs")); err != nil {
			continue
		}
		parent := filepath.Join(hierarchy, "nodeforensics-kube-"+strconv.Itoa(os.Getpid()))
		pod := filepath.Join(parent, "pod"+nearMiss)
		for _, dir := range []string{parent, pod} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Skip("cannot make a cgroup: ", err)
			}
			t.Cleanup(func() { _ = os.Remove(dir) })
		}
		return pod
	}
	t.Skip("no cgroup hierarchy")
	return ""
}

// processIn is a process in a cgroup, as it is collected.
func processIn(t *testing.T, c *collector, cgroup string) procs.Process {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if err := os.WriteFile(filepath.Join(cgroup, "cgroup.procs"), fmt.Appendln(nil, cmd.Process.Pid), 0); err != nil {
		t.Fatal(err)
	}
	part, err := c.processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range part.Processes {
		if p.PID == cmd.Process.Pid && p.PodUID == nearMiss {
			return p
		}
	}
	t.Fatalf("process %d is not in the cgroup of the pod", cmd.Process.Pid)
	return procs.Process{}
}

// withoutList is all else of a node whose kubelet refuses its list: another pod runs, the log has nothing to say.
func withoutList(root string, collected time.Time) forensics.Evidence {
	e := forensics.NewEvidence()
	e.Collected, e.Collector.PID = collected, 1
	for _, source := range []string{
		forensics.SourceProcesses, forensics.SourceCgroups, forensics.SourcePodDirs, forensics.SourceRuntime, forensics.SourcePodLogs, forensics.SourceLogs,
	} {
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceRead})
	}
	e.Cover(forensics.Source{Source: forensics.SourceKubeletPods, Status: forensics.SourceDenied, Detail: "HTTP 401"})
	started, last := collected.Add(-2*time.Hour), collected.Add(-time.Minute)
	e.Kubelet = &kubelet.Instance{
		PID: 700, State: "S", Version: "1.31.2", RootDir: root, CanonicalRoot: root, Started: &started, Flags: map[string]string{},
	}
	e.Processes = []procs.Process{{PID: 700, Comm: "kubelet"}, {PID: 800, Comm: "app", PodUID: runningPod}}
	e.Cgroups = []runtimes.PodCgroup{{PodUID: runningPod, Path: "/sys/fs/cgroup/kubepods/pod" + runningPod}}
	e.PodDirs = []kubelet.PodDir{{UID: runningPod, Path: filepath.Join(root, "pods", runningPod), Modified: &started, Changed: &started}}
	e.Logs = &logs.Story{Lives: []logs.Life{{PID: 700, Started: &started, Last: &last}}, Dropped: map[logs.Kind]int64{}}
	return e
}
