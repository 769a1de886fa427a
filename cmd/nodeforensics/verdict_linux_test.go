package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestAKilledServerIsDisconnectedAndAStoppedOneHung(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	killed, stopped := mountVolume(t, root, livePod, someVolume()), mountVolume(t, root, testfuse.NewUID(), someVolume())
	killed.Kill()
	stopped.Stop()
	startKubelet(t, root)
	testfuse.Await(t, "housekeeping to ask the stopped server", func() bool { return stopped.Waiting() > 0 })
	r := examine(t, 0, "--hung-after", "2s").report(t)
	if got := healthAt(t, r, killed.MountPoint()); got.Status != mounts.StatusDisconnected {
		t.Errorf("the mount of the killed server is %+v, want disconnected", got)
	}
	if f := finding(t, r, "mount-disconnected"); f.Subject.ID != killed.Device() || f.Severity != forensics.Warning {
		t.Errorf("%s %v, want a warning about %s", f.Severity, f.Subject, killed.Device())
	}
	if got := healthAt(t, r, stopped.MountPoint()); got.Status != mounts.StatusHung {
		t.Errorf("the mount of the stopped server is %+v, want hung", got)
	}
	wantCulprit(t, r, stopped, chainOfHousekeeping)
}

func TestOneDeadServerWithThirtyBindMountsIsOneDiagnosis(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	server := testfuse.Mount(t, filepath.Join(root, "plugins", "global"), testfuse.Options{Type: "fuse.juicefs", Source: "JuiceFS:jfs"})
	startKubelet(t, root)
	points := []string{server.MountPoint()}
	for i := range 30 {
		v := volume{plugin: "kubernetes.io~csi", name: fmt.Sprintf("pvc-%d", i)}
		point := v.path(root, testfuse.NewUID())
		if err := os.MkdirAll(point, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(server.MountPoint(), point, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) })
		points = append(points, point)
	}
	hangUnder(t, server)
	r := examine(t, 0, "--hung-after", "2s").report(t)
	for _, point := range points {
		if got := healthAt(t, r, point); got.Status != mounts.StatusHung {
			t.Errorf("%s is %+v, want hung", point, got)
		}
	}
	wantCulprit(t, r, server, chainOfHousekeeping)
	if len(r.Diagnoses) != 1 {
		t.Errorf("%d diagnoses, want 1: %s", len(r.Diagnoses), titles(r))
	}
	if n := len(r.Diagnoses[0].Pods); n != 30 {
		t.Errorf("%d pods are affected, want 30", n)
	}
	if out := r.Evidence.Collector.Outstanding; len(out) > 1 {
		t.Errorf("one server cost %d threads: %+v", len(out), out)
	}
}

func TestFiftyDeadAndFiftyHealthyMountsAreEachJudgedRight(t *testing.T) {
	if !onNode(t) {
		return
	}
	each := 50
	if testing.Short() || raceEnabled { // each is a process, which the detector makes start slowly, and the same code
		each = 10
	}
	root := t.TempDir()
	var dead, healthy []*testfuse.Server
	for range each {
		dead = append(dead, mountVolume(t, root, testfuse.NewUID(), someVolume()))
		healthy = append(healthy, mountVolume(t, root, testfuse.NewUID(), someVolume()))
	}
	for _, s := range dead {
		s.Hang()
	}
	o := examine(t, 0, "--hung-after", "3s")
	r := o.report(t)
	waited := 0.0
	for _, s := range dead {
		got := healthAt(t, r, s.MountPoint())
		if got.Status != mounts.StatusHung || got.Method != "probe" {
			t.Errorf("%s is %+v, want hung", s.Device(), got)
		}
		waited += got.Seconds
	}
	for _, s := range healthy {
		if got := healthAt(t, r, s.MountPoint()); got.Status != mounts.StatusOK && got.Status != mounts.StatusSlow {
			t.Errorf("%s is %+v, want ok", s.Device(), got)
		}
	}
	if n := len(findings(r, "mount-hung")); n != each {
		t.Errorf("%d mounts are hung, want %d", n, each)
	}
	// All of them together waited far longer than the run took: they were asked at once.
	if took := coverage(t, r, forensics.SourceHealth).Seconds; took > waited/4 {
		t.Errorf("waits of %.0f s took %.1f s", waited, took)
	}
	left := func(s *testfuse.Server) int {
		return len(slices.DeleteFunc(slices.Clone(r.Evidence.Collector.Outstanding), func(b forensics.Blocked) bool { return b.Key != s.Device() }))
	}
	for _, s := range dead {
		if n := left(s); n != 1 {
			t.Errorf("of %s, %d calls are said to be left behind, want one: %+v", s.MountPoint(), n, r.Evidence.Collector.Outstanding)
		}
	}
	for _, s := range healthy {
		if n := left(s); n != 0 && healthAt(t, r, s.MountPoint()).Status == mounts.StatusOK {
			t.Errorf("of %s, which responds, %d calls are said to be left behind", s.MountPoint(), n)
		}
	}
}

func TestAMountThatAnswersLateIsSlowAndNeverCritical(t *testing.T) {
	if !onNode(t) {
		return
	}
	delays := []time.Duration{time.Second, 3 * time.Second}
	if testing.Short() {
		delays = delays[:1]
	}
	root := t.TempDir()
	servers := map[time.Duration]*testfuse.Server{}
	for _, d := range delays {
		servers[d] = mountVolume(t, root, testfuse.NewUID(), someVolume())
	}
	startKubelet(t, root)
	for d, s := range servers {
		s.Delay(d)
	}
	r := examine(t, 0).report(t)
	for d, s := range servers {
		got := healthAt(t, r, s.MountPoint())
		if got.Status != mounts.StatusSlow || got.Seconds < d.Seconds() {
			t.Errorf("the mount that answers after %v is %+v, want slow", d, got)
		}
		if !slices.ContainsFunc(findings(r, "mount-slow"), func(f forensics.Finding) bool { return f.Subject.ID == s.Device() }) {
			t.Errorf("no mount-slow about %s: %s", s.Device(), titles(r))
		}
	}
	if bad := atLeast(r, forensics.Critical); len(bad) > 0 {
		t.Errorf("critical on a slow node: %s", titles(r))
	}
}

func TestAMountThatRecoversBetweenTwoSamplesIsSaidToHaveRecovered(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	passing, lasting := mountVolume(t, root, livePod, someVolume()), mountVolume(t, root, testfuse.NewUID(), someVolume())
	passing.Hang()
	lasting.Hang()
	stuck := testfuse.HoldStat(t, passing.MountPoint())
	testfuse.Await(t, "the stat to block", stuck.Blocked)
	blocked := time.Now()
	testfuse.Await(t, "the stat to have waited longer than --hung-after", func() bool { return time.Since(blocked) > 2200*time.Millisecond })

	// The program judges the first by who waits for it, asks the second, and has until then to see the first recover.
	dir := t.TempDir()
	wait := start(t, command(t, "--hung-after", "2s", "--output-dir", dir))
	testfuse.Await(t, "the probe of the other mount", func() bool { return lasting.Unanswered() > 0 })
	passing.Heal()
	if o := wait(); o.status != exitDone {
		t.Fatalf("exit status %d: %s", o.status, o.stderr)
	}
	r := readReport(t, onlyFile(t, dir, ".json"))
	if got := healthAt(t, r, passing.MountPoint()); got.Status != mounts.StatusRecovered {
		t.Errorf("the mount that has recovered is %+v", got)
	}
	i := slices.IndexFunc(findings(r, "mount-slow"), func(f forensics.Finding) bool { return f.Subject.ID == passing.Device() })
	if i < 0 {
		t.Fatalf("nothing is said about the mount that has recovered: %s", titles(r))
	}
	wantNamed(t, findings(r, "mount-slow")[i], "recovered")
	for _, f := range atLeast(r, forensics.Critical) {
		if f.Subject.ID == passing.Device() {
			t.Errorf("the mount that has recovered is critical: %s", f.Title)
		}
	}
	if got := healthAt(t, r, lasting.MountPoint()); got.Status != mounts.StatusHung {
		t.Errorf("the mount that has not recovered is %+v", got)
	}
}

func TestAFrozenFileSystemIsFrozenNotDead(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	point := volume{plugin: "kubernetes.io~csi", name: "disk"}.path(root, livePod)
	device := mountLoop(t, point)
	startKubelet(t, root)
	freeze(t, point)
	writer := exec.Command("touch", filepath.Join(point, "new"))
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { go func() { _ = writer.Wait() }() })
	pid := writer.Process.Pid
	testfuse.Await(t, "the writer to wait", func() bool { return taskState(pid, pid) == "D" })
	blocked := time.Now()
	// A wait for a disk counts after four times --hung-after.
	testfuse.Await(t, "it to have waited long enough", func() bool { return time.Since(blocked) > 4500*time.Millisecond })

	r := examine(t, 0, "--hung-after", "1s").report(t)
	if got := healthAt(t, r, point); got.Status != mounts.StatusFrozen {
		t.Errorf("the frozen file system is %+v, want frozen", got)
	}
	f := finding(t, r, "mount-frozen")
	if f.Subject.ID != device || f.Severity != forensics.Warning {
		t.Errorf("%s about %v, want a warning about %s", f.Severity, f.Subject, device)
	}
	if bad := atLeast(r, forensics.Critical); len(bad) > 0 {
		t.Errorf("a frozen file system is critical: %s", titles(r))
	}
}

// mountLoop mounts a small ext4 from a file and returns its device number.
func mountLoop(t testing.TB, point string) string {
	t.Helper()
	for _, tool := range []string{"mkfs.ext4", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s", tool)
		}
	}
	image := filepath.Join(testfuse.InMemory(t), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 16<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(point, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, point}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	t.Cleanup(func() {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", point, err)
		}
	})
	var st unix.Stat_t
	if err := unix.Stat(point, &st); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
}

// freeze freezes a file system until the test ends, but never for long: who waits for it cannot be killed.
func freeze(t testing.TB, point string) {
	t.Helper()
	const fiFreeze, fiThaw = 0xc0045877, 0xc0045878 // FIFREEZE and FITHAW, linux/fs.h
	fd, err := unix.Open(point, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	thaw := func() { _ = unix.IoctlSetInt(fd, fiThaw, 0) } // EINVAL: it is thawed
	watchdog := time.AfterFunc(time.Minute, thaw)
	t.Cleanup(func() {
		watchdog.Stop()
		thaw()
		_ = unix.Close(fd)
	})
	if err := unix.IoctlSetInt(fd, fiFreeze, 0); err != nil {
		t.Fatalf("freeze %s: %v", point, err)
	}
}

// TestWithoutProbingOnlyWhatOthersWaitForIsJudged is about --no-probe: it leaves no thread behind.
func TestWithoutProbingOnlyWhatOthersWaitForIsJudged(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	seen, unseen := mountVolume(t, root, testfuse.NewUID(), someVolume()), mountVolume(t, root, livePod, someVolume())
	startKubelet(t, root)
	unseen.Hang()
	hangUnder(t, seen)
	blocked := time.Now()
	testfuse.Await(t, "the kubelet to have waited longer than --hung-after", func() bool { return time.Since(blocked) > 1200*time.Millisecond })
	r := examine(t, 0, "--no-probe", "--hung-after", "1s").report(t)
	wantCulprit(t, r, seen, chainOfHousekeeping)
	if got := healthAt(t, r, unseen.MountPoint()); got.Status != mounts.StatusNotProbed || got.Reason == "" {
		t.Errorf("the mount that nobody waits for is %+v, want not probed, with a reason", got)
	}
	if n := unseen.Unanswered(); n != 0 {
		t.Errorf("%d requests reached the mount that was not to be probed", n)
	}
	if out := r.Evidence.Collector.Outstanding; len(out) > 0 {
		t.Errorf("calls are left behind: %+v", out)
	}
	if ids := clean(r, forensics.SourceHealth); len(ids) > 0 {
		t.Errorf("%q are clean, though a mount was not looked at", ids)
	}
}

// TestLockedFileIsNoHang has a process wait for a lock of a file that another has locked, for long. Only the server knows that:
// the wait looks like one for a server that does not answer, which would be the end of the mount.
func TestLockedFileIsNoHang(t *testing.T) {
	if !onNode(t) {
		return
	}
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{
		Type: "fuse.glusterfs", Source: "gluster:/volume", Locks: true, Files: map[string]string{"leader": ""},
	})
	file := filepath.Join(s.MountPoint(), "leader")
	first, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() }) // which is what ends the other's wait
	if err := unix.Flock(int(first.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	second := exec.Command("flock", file, "true")
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	testfuse.Await(t, "the other to wait", func() bool { return s.Unanswered() == 1 })
	letWait(t, 1200*time.Millisecond)

	r := examine(t, 0, "--hung-after", "1s").report(t)
	if h := healthAt(t, r, s.MountPoint()); h.Status != mounts.StatusOK {
		t.Errorf("the mount is %s: %s", h.Status, h.Reason)
	}
	if bad := atLeast(r, forensics.Warning); len(bad) > 0 {
		t.Errorf("findings: %s", titles(r))
	}
	at := slices.IndexFunc(r.Evidence.Threads, func(th procs.Thread) bool { return th.PID == second.Process.Pid })
	if at < 0 || r.Evidence.Threads[at].Wait.Kind != procs.WaitFileLock || r.Evidence.Threads[at].Path != file {
		t.Errorf("threads %+v, want process %d waiting for a lock of %s", r.Evidence.Threads, second.Process.Pid, file)
	}
	_ = first.Close()
	if err := second.Wait(); err != nil {
		t.Errorf("the other got no lock: %v", err)
	}
}

// TestFetchOnOpenIsNoHang has a process open a file on a file system that fetches it then, which takes as long as it takes. All
// else is answered: the mount is well.
func TestFetchOnOpenIsNoHang(t *testing.T) {
	if !onNode(t) {
		return
	}
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{Type: "fuse.blobfuse2", Files: map[string]string{"backup": "content"}})
	s.HangOnOpen()
	file := filepath.Join(s.MountPoint(), "backup")
	fetch := exec.Command("cat", file)
	if err := fetch.Start(); err != nil {
		t.Fatal(err)
	}
	testfuse.Await(t, "the file to be opened", func() bool { return s.Unanswered() == 1 })
	letWait(t, 1200*time.Millisecond)

	r := examine(t, 0, "--hung-after", "1s").report(t)
	if h := healthAt(t, r, s.MountPoint()); h.Status != mounts.StatusOK {
		t.Errorf("the mount is %s: %s", h.Status, h.Reason)
	}
	if bad := atLeast(r, forensics.Warning); len(bad) != 1 || len(findings(r, "thread-blocked")) != 1 {
		t.Errorf("findings: %s, want only that the process waits", titles(r))
	}
	wantNamed(t, finding(t, r, "thread-blocked"), file)
	if len(r.Diagnoses) != 1 || r.Diagnoses[0].Root.Kind != forensics.KindThread {
		t.Errorf("the cause is said to be %+v, want the thread itself", r.Diagnoses)
	}
	s.Heal()
	if err := fetch.Wait(); err != nil {
		t.Error(err)
	}
}
