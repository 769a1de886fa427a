package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// memoryLimit is what collecting and reporting may take on a small healthy node, each process at its peak.
const memoryLimit = 64 << 20

func TestAHealthyNodeHasNothingAboveInfo(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	servers := []*testfuse.Server{mountVolume(t, root, livePod, someVolume()), mountVolume(t, root, livePod, volume{
		plugin: "kubernetes.io~csi", name: "other", fsType: "fuse.other", source: "other",
	})}
	mountLoop(t, volume{plugin: "kubernetes.io~csi", name: "disk"}.path(root, livePod))
	for _, s := range servers {
		testfuse.Hold(t, testfuse.FD, filepath.Join(s.MountPoint(), "data/file"))
		testfuse.Hold(t, testfuse.Cwd, s.MountPoint())
	}
	startKubelet(t, root)

	cmd := command(t, "--output-dir", t.TempDir(), "--api-dump", healthyObjects(t), "--log", healthyLog(t), "--log", healthyKernelLog(t))
	o := finish(t, cmd)
	o.dir = cmd.Args[2]
	if o.status != exitDone || o.stderr != "" {
		t.Errorf("exit status %d, stderr %q, want 0 and silence", o.status, o.stderr)
	}
	r := o.report(t)
	if bad := atLeast(r, forensics.Warning); len(bad) > 0 || len(r.Diagnoses) > 0 {
		t.Errorf("%d diagnoses on a healthy node: %s", len(r.Diagnoses), titles(r))
	}
	for _, outcome := range r.Outcomes {
		if outcome.Status == forensics.OutcomeFailed || outcome.Status == forensics.OutcomeNotChecked {
			t.Errorf("%s: %s: %s", outcome.Check, outcome.Status, outcome.Reason)
		}
	}
	for _, h := range r.MountHealth {
		if h.Status != mounts.StatusOK {
			t.Errorf("a healthy mount is %+v", h)
		}
	}
	if n := len(r.Evidence.Collector.Outstanding); n > 0 {
		t.Errorf("%d calls are left behind", n)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	if sum := usage + r.Evidence.Collector.PeakBytes; !raceEnabled && sum > memoryLimit {
		t.Errorf("both processes took %d MiB at their peaks, want at most %d", sum>>20, memoryLimit>>20)
	}
	onlyProgramsLeft(t)
}

// healthyObjects is what kubectl prints of a cluster in which nothing is going on.
func healthyObjects(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.json")
	text := `{"apiVersion": "v1", "items": [
		{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}},
		{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default", "uid": "` + livePod + `"}, "spec": {"nodeName": "node-1"}, "status": {"phase": "Running"}}
	], "kind": "List"}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// healthyKernelLog is the end of what a kernel has written.
func healthyKernelLog(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for i, text := range []string{"eth0: Link is up", "EXT4-fs (sda1): mounted filesystem with ordered data mode", "systemd-journald[311]: Received client request to flush"} {
		fmt.Fprintf(&b, "%s node-7 kernel: [%5d.000000] %s\n", time.Now().Add(time.Duration(i-5)*time.Minute).Format(time.RFC3339), 100+i, text)
	}
	file := filepath.Join(t.TempDir(), "kernel.log")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// healthyLog is what a kubelet has written in the last five minutes, in which nothing went wrong.
func healthyLog(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	line := func(at time.Time, text string) {
		fmt.Fprintf(&b, "I%s %7d %s\n", at.Format("0102 15:04:05.000000"), 4711, text)
	}
	start := time.Now().Add(-5 * time.Minute)
	line(start, `server.go:529] "Kubelet version" kubeletVersion="v1.34.4"`)
	line(start.Add(time.Second), `server.go:1274] "Started kubelet"`)
	line(start.Add(2*time.Second), `kubelet.go:2498] "SyncLoop ADD" source="file" pods=["default/web"]`)
	for at := start.Add(3 * time.Second); at.Before(time.Now()); at = at.Add(2 * time.Second) {
		line(at, `kubelet.go:2612] "SyncLoop (housekeeping)"`)
		line(at.Add(time.Millisecond), `kubelet.go:2620] "SyncLoop (housekeeping) end" duration="1ms"`)
	}
	file := filepath.Join(t.TempDir(), "kubelet.log")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// onlyProgramsLeft waits until no process of the program is left but those with the given pids.
func onlyProgramsLeft(t testing.TB, pids ...int) {
	t.Helper()
	testfuse.Await(t, fmt.Sprintf("all processes of ours but %v to be gone", pids), func() bool {
		left := processesOf(t, program(t, programName))
		for _, pid := range pids {
			if !left[pid] {
				return false
			}
		}
		return len(left) == len(pids)
	})
}

// processesOf are the processes that run an executable, also those of which only a stuck thread is left.
func processesOf(t testing.TB, exe string) map[int]bool {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == exe {
			var pid int
			if _, err := fmt.Sscanf(link, "/proc/%d/", &pid); err != nil {
				t.Fatal(err)
			}
			found[pid] = true
		}
	}
	return found
}

// TestNoRunOnABusyNodeIsCritical is about the worst defect that this program can have. The last run shows that it
// would have seen something.
func TestNoRunOnABusyNodeIsCritical(t *testing.T) {
	if !onNode(t) {
		return
	}
	rounds, runs := 1, 4 // at the same time
	if testing.Short() {
		rounds = 1
	}
	root, disk := t.TempDir(), t.TempDir()
	var dirs []string
	for i := range 3 {
		v := volume{plugin: "kubernetes.io~csi", name: fmt.Sprintf("pvc-%d", i), fsType: "fuse.busy", source: "busy"}
		dirs = append(dirs, mountVolume(t, root, livePod, v).MountPoint())
	}
	late := mountVolume(t, root, livePod, someVolume())
	late.Delay(100 * time.Millisecond) // so that somebody always waits for it
	startKubelet(t, root)
	startTraffic(t, append(dirs, disk, late.MountPoint())...)
	for range rounds {
		waits := map[string]func() outcome{}
		for range runs {
			dir := t.TempDir()
			waits[dir] = start(t, command(t, "--output-dir", dir, "--hung-after", "3s", "--interval", "1s"))
		}
		for dir, wait := range waits {
			if o := wait(); o.status != exitDone {
				t.Fatalf("exit status %d: %s", o.status, o.stderr)
			}
			r := readReport(t, onlyFile(t, dir, ".json"))
			if bad := atLeast(r, forensics.Critical); len(bad) > 0 {
				t.Fatalf("critical on a node that is only busy: %s", titles(r))
			}
		}
	}
	dead := mountVolume(t, root, testfuse.NewUID(), someVolume())
	hangUnder(t, dead)
	r := examine(t, 0, "--hung-after", "3s").report(t)
	wantCulprit(t, r, dead, chainOfHousekeeping)
	if n := len(findings(r, "mount-hung")); n != 1 {
		t.Errorf("%d mounts are hung, want the planted one: %s", n, titles(r))
	}
}

// startTraffic keeps directories busy from processes of their own until the test ends.
func startTraffic(t testing.TB, dirs ...string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, dirs...)
	cmd.Env = append(os.Environ(), nodeEnv+"="+nodeTraffic)
	cmd.Stderr = os.Stderr
	life, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // a call may wait for a server that goes later
		_ = life.Close()
		go func() { _ = cmd.Wait() }()
	})
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatalf("traffic: %v", err)
	}
}

// trafficMain is the process that makes traffic: in each directory it writes, syncs, renames, reads and removes files, and rests
// then, or else the machine has no time for other tests. In the mount that answers late somebody waits all the time.
func trafficMain(dirs []string) int {
	var begun sync.WaitGroup
	begun.Add(len(dirs))
	for _, dir := range dirs {
		go func() {
			for i := 0; ; i++ {
				err := churn(dir, i)
				time.Sleep(20 * time.Millisecond)
				if i == 0 {
					begun.Done()
				}
				if err != nil {
					fmt.Fprintln(os.Stderr, "traffic:", err)
				}
			}
		}()
	}
	begun.Wait()
	fmt.Print(".")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func churn(dir string, i int) error {
	name := filepath.Join(dir, fmt.Sprintf("busy-%d", i%7))
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err := io.WriteString(f, strings.Repeat("busy ", 20_000)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(name, name+".new"); err != nil {
		return err
	}
	if _, err := os.ReadFile(name + ".new"); err != nil {
		return err
	}
	if _, err := os.ReadDir(dir); err != nil {
		return err
	}
	return os.Remove(name + ".new")
}
