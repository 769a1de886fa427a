package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/report"
)

// chainOfHousekeeping leads from a dead file system to the kubelet.
var chainOfHousekeeping = []forensics.Kind{
	forensics.KindSuperblock, forensics.KindMount, forensics.KindThread, forensics.KindGoroutine,
	forensics.KindSubsystem, forensics.KindKubelet,
}

// wantCulprit checks that the first diagnosis is critical and comes from the file system of a server, or from the server
// itself, and that its chain goes through some kinds of entities in that order.
func wantCulprit(t testing.TB, r report.Report, server *testfuse.Server, chain []forensics.Kind) {
	t.Helper()
	if len(r.Diagnoses) == 0 {
		t.Fatalf("no diagnosis: %s", titles(r))
	}
	d := r.Diagnoses[0]
	roots := []forensics.Entity{
		{Kind: forensics.KindSuperblock, ID: server.Device()}, {Kind: forensics.KindProcess, ID: strconv.Itoa(server.PID())},
	}
	if d.Severity != forensics.Critical || !slices.Contains(roots, d.Root) {
		t.Errorf("the first diagnosis is %s with root %v, want critical, %v: %s", d.Severity, d.Root, roots, titles(r))
	}
	left := chain
	for _, kind := range kinds(d) {
		if len(left) > 0 && kind == left[0] {
			left = left[1:]
		}
	}
	if len(left) > 0 {
		t.Errorf("chain %v, want %v", kinds(d), chain)
	}
}

// threadOf is the kubelet's thread that waits for a server.
func threadOf(t testing.TB, r report.Report, kubelet *exec.Cmd, server *testfuse.Server) string {
	t.Helper()
	for _, thread := range r.Evidence.Threads {
		if thread.PID == kubelet.Process.Pid && thread.Device == server.Device() {
			return forensics.ThreadEntity(thread).ID
		}
	}
	t.Fatalf("no thread of the kubelet waits for %s: %+v", server.Device(), r.Evidence.Threads)
	return ""
}

func TestCulpritOfAStalledKubeletIsNamedWithWholeChain(t *testing.T) {
	if !onNode(t) {
		return
	}
	root, uid, v := t.TempDir(), testfuse.NewUID(), someVolume()
	server := mountVolume(t, root, uid, v)
	kubelet := startKubelet(t, root, "--stalled-after=1ms", "--pretend-version=v1.17.4")
	hangUnder(t, server)

	o := examine(t, 0, "--hung-after", "2s")
	r := o.report(t)
	wantCulprit(t, r, server, chainOfHousekeeping)
	thread := threadOf(t, r, kubelet, server)
	mount := healthAt(t, r, server.MountPoint()).MountID
	f := finding(t, r, "kubelet-housekeeping-blocked")
	goroutine := f.Because[0]
	if goroutine.Kind != forensics.KindGoroutine {
		t.Fatalf("housekeeping is blocked because of %v, want a goroutine", goroutine)
	}
	wantNamed(t, f, server.MountPoint(), fmt.Sprintf("mount %d", mount), "Goroutine "+goroutine.ID, "thread "+thread, uid, "1.17.4", v.source)
	if f.Confidence != forensics.Certain {
		t.Errorf("confidence %s (%s), want certain", f.Confidence, f.ConfidenceWhy)
	}
	d := r.Diagnoses[0]
	if !slices.ContainsFunc(d.Pods, func(p forensics.AffectedPod) bool { return p.UID == uid && p.State == "orphaned" }) {
		t.Errorf("pods %v, want orphaned %s", d.Pods, uid)
	}
	if len(d.Remedies) == 0 || !strings.HasPrefix(d.Remedies[0].String(), "kubectl cordon") {
		t.Errorf("the first step is not to cordon the node: %v", d.Remedies)
	}
	if stalled := finding(t, r, "kubelet-syncloop-stalled"); stalled.Severity != forensics.Warning {
		t.Errorf("the stalled sync loop, which is explained, is %s, want warning", stalled.Severity)
	}
	for _, where := range []string{o.stdout, readFile(t, o.file(t, ".html"))} {
		if !strings.Contains(where, "housekeeping") || !strings.Contains(where, uid) {
			t.Errorf("a report does not name the culprit: %.300s", where)
		}
	}
}

func TestCulpritIsNamedBelowASymlinkedRoot(t *testing.T) {
	if !onNode(t) {
		return
	}
	real, uid, v := filepath.Join(t.TempDir(), "ssd1", "kubelet"), testfuse.NewUID(), someVolume()
	server := mountVolume(t, real, uid, v)
	link := filepath.Join(t.TempDir(), "kubelet")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	startKubelet(t, link)
	hangUnder(t, server)
	r := examine(t, 0, "--hung-after", "2s").report(t)
	wantCulprit(t, r, server, chainOfHousekeeping)
	wantNamed(t, finding(t, r, "kubelet-housekeeping-blocked"), v.path(link, uid), uid)
	if k := r.Evidence.Kubelet; k == nil || k.RootDir != link || k.CanonicalRoot != real {
		t.Errorf("kubelet %+v, want root %s, canonical %s", k, link, real)
	}
}

func TestOfTwoDeadMountsTheOneThatBlocksHousekeepingIsTheCulprit(t *testing.T) {
	if !onNode(t) {
		return
	}
	root, uid := t.TempDir(), testfuse.NewUID()
	blocks, other := mountVolume(t, root, uid, someVolume()), mountVolume(t, root, livePod, someVolume())
	startKubelet(t, root)
	other.Hang()
	hangUnder(t, blocks)
	r := examine(t, 0, "--hung-after", "2s").report(t)
	wantCulprit(t, r, blocks, chainOfHousekeeping)
	wantNamed(t, finding(t, r, "kubelet-housekeeping-blocked"), blocks.MountPoint())
	if n := len(findings(r, "mount-hung")); n != 2 {
		t.Errorf("%d mounts are hung, want 2: %s", n, titles(r))
	}
	if len(r.Diagnoses) != 2 || r.Diagnoses[1].Root.ID != other.Device() || slices.Contains(kinds(r.Diagnoses[1]), forensics.KindKubelet) {
		t.Errorf("the second diagnosis is not about %s alone: %+v", other.Device(), r.Diagnoses[1:])
	}
}

func TestWithoutADumpThreadAndPathAreNamed(t *testing.T) {
	if !onNode(t) {
		return
	}
	root, uid := t.TempDir(), testfuse.NewUID()
	server := mountVolume(t, root, uid, someVolume())
	kubelet := startKubelet(t, root, "--require-token=hunter2-kubelet")
	hangUnder(t, server)

	r := examine(t, 0, "--hung-after", "2s").report(t)
	if got := coverage(t, r, forensics.SourceGoroutines); got.Status != forensics.SourceDenied {
		t.Errorf("coverage of goroutines is %+v, want denied", got)
	}
	e := r.Evidence // as it is where the memory of the kubelet cannot be read either
	e.Dumps, e.Coverage = nil, slices.DeleteFunc(slices.Clone(e.Coverage), func(s forensics.Source) bool {
		return strings.HasPrefix(s.Source, forensics.SourceGoroutines+":")
	})
	blind := report.New(r.Tool, e, forensics.Analyze(&e, checks.All()))
	wantCulprit(t, blind, server, nil)
	f := finding(t, blind, "kubelet-housekeeping-blocked")
	wantNamed(t, f, "Thread "+threadOf(t, blind, kubelet, server), server.MountPoint(), uid)
	if f.Confidence != forensics.Likely {
		t.Errorf("without a dump the finding is %s, want likely", f.Confidence)
	}

	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("hunter2-kubelet\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := examine(t, 0, "--hung-after", "2s", "--token-file", token)
	wantCulprit(t, o.report(t), server, chainOfHousekeeping)
	for _, text := range []string{o.stdout, o.stderr, readFile(t, o.file(t, ".json")), readFile(t, o.file(t, ".html"))} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the token is in a report: %.300s", text)
		}
	}
}

// TestAKubeletThatRefusesADumpIsReadFromMemory has a kubelet with default authorization: its goroutines are read from its memory, and
// lead from the dead mount to housekeeping as those that it gives.
func TestAKubeletThatRefusesADumpIsReadFromMemory(t *testing.T) {
	if !onNode(t) {
		return
	}
	root, uid := t.TempDir(), testfuse.NewUID()
	server := mountVolume(t, root, uid, someVolume())
	kubelet := startKubelet(t, root, "--require-token=hunter2", "--read-only-port=0", "--healthz-port=0")
	hangUnder(t, server)
	r := examine(t, 0, "--hung-after", "2s").report(t)
	wantCulprit(t, r, server, chainOfHousekeeping)
	if f := finding(t, r, "kubelet-housekeeping-blocked"); f.Severity != forensics.Critical || f.Confidence != forensics.Certain {
		t.Errorf("%s, %s: %s", f.Severity, f.Confidence, f.Title)
	}
	blocked := finding(t, r, "thread-blocked")
	wantNamed(t, blocked, threadOf(t, r, kubelet, server), server.MountPoint())
	joined := forensics.NewModel(&r.Evidence).Joins()
	if len(joined) == 0 {
		t.Error("no goroutine is joined with its thread")
	}
	for _, j := range joined { // in both dumps
		if forensics.ThreadEntity(j.Thread).ID != threadOf(t, r, kubelet, server) {
			t.Errorf("goroutine %d of dump %d is thread %d", j.Goroutine, j.Dump, j.Thread.TID)
		}
	}
	if got := coverage(t, r, fmt.Sprintf("%s:memory of process %d", forensics.SourceGoroutines, kubelet.Process.Pid)); got.Status != forensics.SourceRead {
		t.Errorf("memory: %+v", got)
	}
	if list := findings(r, "pod-orphaned-mounted"); len(list) > 0 {
		t.Errorf("a pod is called orphaned without the kubelet's list: %v", list)
	}
}

// TestAKubeletsDumpAndItsMemoryAgree has a kubelet that gives its dump: its memory tells the same, and which thread each goroutine is on.
func TestAKubeletsDumpAndItsMemoryAgree(t *testing.T) {
	if !onNode(t) {
		return
	}
	root, uid := t.TempDir(), testfuse.NewUID()
	server := mountVolume(t, root, uid, someVolume())
	kubelet := startKubelet(t, root)
	hangUnder(t, server)
	r := examine(t, 0, "--hung-after", "2s").report(t)
	wantCulprit(t, r, server, chainOfHousekeeping)
	got := coverage(t, r, fmt.Sprintf("%s:memory of process %d", forensics.SourceGoroutines, kubelet.Process.Pid))
	if got.Status != forensics.SourceRead || strings.Contains(got.Detail, "differs") {
		t.Errorf("memory: %+v", got)
	}
	// With the race detector, reading takes longer than another program may take.
	if !raceEnabled && !slices.ContainsFunc(r.Coverage, func(s forensics.Source) bool { // the server of the dead mount is a Go program, too
		return strings.HasPrefix(s.Source, forensics.SourceOtherGoroutines+":memory of process") && s.Status == forensics.SourceRead
	}) {
		t.Errorf("the server of the mount, process %d, was not read: %v, %+v", server.PID(), r.Coverage, r.Evidence.MountUse.FUSE)
	}
	want := threadOf(t, r, kubelet, server)
	found := slices.ContainsFunc(r.Evidence.Dumps[0].Goroutines, func(g goroutines.Goroutine) bool {
		return fmt.Sprintf("%d/%d", kubelet.Process.Pid, g.Thread) == want
	})
	if !found || strings.HasPrefix(r.Evidence.Dumps[0].Source, "memory") {
		t.Errorf("no goroutine of the dump from %s is on thread %s", r.Evidence.Dumps[0].Source, want)
	}
}

func TestADumpOfAnotherProcessIsNotJoined(t *testing.T) {
	if !onNode(t) {
		return
	}
	// The other kubelet is the same program in the same trouble.
	elsewhere, port := t.TempDir(), freePort(t)
	far := mountVolume(t, elsewhere, testfuse.NewUID(), someVolume())
	other := startKubelet(t, elsewhere, "--port="+port)
	hangUnder(t, far)
	dump := filepath.Join(t.TempDir(), "dump.txt")
	if err := os.WriteFile(dump, fetchDump(t, port), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = other.Process.Kill()
	far.Kill() // what the other one waits for, so that it goes

	root, uid := t.TempDir(), testfuse.NewUID()
	near := mountVolume(t, root, uid, someVolume())
	kubelet := startKubelet(t, root)
	hangUnder(t, near)
	r := examine(t, 0, "--hung-after", "2s", "--goroutines", dump).report(t)
	wantCulprit(t, r, near, nil)
	given := slices.IndexFunc(r.Evidence.Dumps, func(d forensics.Dump) bool { return d.Source == dump })
	if given < 0 || len(r.Evidence.Dumps[given].Goroutines) == 0 {
		t.Fatalf("the dump was not read: %+v", r.Coverage)
	}
	for _, j := range forensics.NewModel(&r.Evidence).Joins() {
		if j.Dump == given {
			t.Errorf("joined to thread %s: %+v", threadOf(t, r, kubelet, near), j)
		}
	}
	for _, d := range r.Diagnoses {
		if d.Root.ID == near.Device() && slices.Contains(kinds(d), forensics.KindGoroutine) {
			t.Errorf("a goroutine of another process is in the chain: %v", d.Chain)
		}
	}
}

// fetchDump asks a kubelet for its goroutines.
func fetchDump(t testing.TB, port string) []byte {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := client.Get("https://127.0.0.1:" + port + "/debug/pprof/goroutine?debug=2")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(text), "HandlePodCleanups") {
		t.Fatalf("the dump of the other kubelet is of no use: %v\n%s", err, text)
	}
	return text
}

func TestAStoppedKubeletIsSaidToBeStopped(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	server := mountVolume(t, root, testfuse.NewUID(), someVolume())
	kubelet := startKubelet(t, root)
	pid := kubelet.Process.Pid
	// Of a goroutine that runs, memory shows no frame. On a busy machine, one may still do so.
	testfuse.Await(t, "the kubelet to wait for work", func() bool {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		return err == nil && !slices.ContainsFunc(tasks, func(task os.DirEntry) bool {
			tid, _ := strconv.Atoi(task.Name())
			return taskState(pid, tid) != "S"
		})
	})
	if err := kubelet.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	testfuse.Await(t, "the kubelet to be stopped", func() bool { return strings.Contains(taskState(pid, pid), "T") })
	server.Hang()
	r := examine(t, 0, "--hung-after", "2s").report(t)
	f := finding(t, r, "kubelet-not-running")
	if f.Severity != forensics.Critical {
		t.Errorf("a stopped kubelet is %s, want critical", f.Severity)
	}
	wantNamed(t, f, fmt.Sprintf("process %d is stopped", pid))
	if got := healthAt(t, r, server.MountPoint()); got.Status != mounts.StatusHung {
		t.Errorf("the dead mount is %+v, want hung", got)
	}
	if got := coverage(t, r, forensics.SourceGoroutines); got.Status == forensics.SourceRead {
		t.Errorf("a stopped kubelet has answered: %+v", got)
	}
	if got := coverage(t, r, fmt.Sprintf("%s:memory of process %d", forensics.SourceGoroutines, pid)); got.Status != forensics.SourceRead {
		t.Errorf("memory of a stopped kubelet: %+v", got)
	}
}

// taskState is the state letter of a thread, "" when it is gone.
func taskState(pid, tid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	if err != nil {
		return ""
	}
	rest := string(text[strings.LastIndexByte(string(text), ')')+1:])
	return strings.Fields(rest)[0]
}
