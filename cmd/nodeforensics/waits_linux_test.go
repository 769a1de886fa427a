package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/report"
)

// launch starts a command that is going to wait, and reaps it when it ends.
func launch(t testing.TB, name string, args ...string) int {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() { _ = cmd.Wait() }()
	return cmd.Process.Pid
}

// letWait returns when something that is so now has been so for long.
func letWait(t testing.TB, long time.Duration) {
	t.Helper()
	began := time.Now()
	testfuse.Await(t, "the wait to be long", func() bool { return time.Since(began) > long })
}

// threadsOf are the waiting threads of a process.
func threadsOf(r report.Report, pid int) []procs.Thread {
	return slices.DeleteFunc(slices.Clone(r.Evidence.Threads), func(th procs.Thread) bool { return th.PID != pid })
}

// TestALongReadIsNoHang has a process read what the server has to fetch first: an object store does that for minutes. The
// server answers everybody else.
func TestALongReadIsNoHang(t *testing.T) {
	if !onNode(t) {
		return
	}
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{Type: "fuse.s3fs", Source: "s3fs", Files: map[string]string{"object": "text"}})
	s.HangData()
	pid := launch(t, "cat", filepath.Join(s.MountPoint(), "object"))
	testfuse.Await(t, "the read", func() bool { return s.Unanswered() == 1 })
	letWait(t, 1200*time.Millisecond)

	r := examine(t, 0, "--hung-after", "1s").report(t)
	if h := healthAt(t, r, s.MountPoint()); h.Status != mounts.StatusOK {
		t.Errorf("the mount is %+v, want ok", h)
	}
	if len(findings(r, "mount-hung")) > 0 || len(atLeast(r, forensics.Critical)) > 0 {
		t.Errorf("findings: %s", titles(r))
	}
	if f := finding(t, r, "thread-blocked"); len(threadsOf(r, pid)) != 1 || f.Subject != forensics.ThreadEntity(threadsOf(r, pid)[0]) {
		t.Errorf("%s, want a thread of %d", f.Title, pid)
	}
	r = examine(t, 0, "--hung-after", "1s", "--no-probe").report(t)
	if h := healthAt(t, r, s.MountPoint()); h.Status != mounts.StatusNotProbed || h.Reason == "" {
		t.Errorf("without a probe the mount is %+v, want not judged, with a reason", h)
	}

	s.Hang()
	r = examine(t, 0, "--hung-after", "1s").report(t)
	h := healthAt(t, r, s.MountPoint())
	if want := fmt.Sprintf("%d/%d", pid, pid); h.Status != mounts.StatusHung || h.Witness != want || h.Seconds < 1.2 || h.Method != "probe" {
		t.Errorf("the mount of which nothing is answered any more is %+v, want hung by a probe, for as long as %s waits", h, want)
	}
}

// TestALinkToADeadMountAccusesOnlyThatOne has a process wait on a path that lies on a busy mount by its text, and leads
// through a symbolic link to a dead one.
func TestALinkToADeadMountAccusesOnlyThatOne(t *testing.T) {
	if !onNode(t) {
		return
	}
	dead := testfuse.Mount(t, t.TempDir(), testfuse.Options{Type: "fuse.sshfs", Source: "projects:/"})
	busy := testfuse.Mount(t, t.TempDir(), testfuse.Options{
		Type: "fuse.sshfs", Source: "homes:/", Files: map[string]string{"film": "text"}, Links: map[string]string{"project": dead.MountPoint()},
	})
	busy.HangData()
	launch(t, "cat", filepath.Join(busy.MountPoint(), "film"))
	testfuse.Await(t, "the read", func() bool { return busy.Unanswered() == 1 })
	dead.Hang()
	stuck := testfuse.HoldStat(t, filepath.Join(busy.MountPoint(), "project"))
	testfuse.Await(t, "the stat to block", stuck.Blocked)
	letWait(t, 1200*time.Millisecond)

	r := examine(t, 0, "--hung-after", "1s").report(t)
	if h := healthAt(t, r, busy.MountPoint()); h.Status != mounts.StatusOK {
		t.Errorf("the mount with the link is %+v, want ok", h)
	}
	if h := healthAt(t, r, dead.MountPoint()); h.Status != mounts.StatusHung {
		t.Errorf("the dead mount is %+v, want hung", h)
	}
}

// TestUnmountingADeadDiskAccusesNoOther has umount(8) wait for a disk that is in no mount table any more. The path that it was
// asked about leads to the disk below now.
func TestUnmountingADeadDiskAccusesNoOther(t *testing.T) {
	if !onNode(t) {
		return
	}
	below := t.TempDir()
	mountLoop(t, below)
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	point := filepath.Join(below, "disk")
	mountImage(t, filepath.Join(server.MountPoint(), "image"), point)
	if err := os.WriteFile(filepath.Join(point, "file"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	server.Hang()
	pid := launch(t, "umount", point)
	testfuse.Await(t, "umount to wait", func() bool { return taskState(pid, pid) == "D" })
	letWait(t, 4500*time.Millisecond)

	r := examine(t, 0, "--hung-after", "1s").report(t)
	if h := healthAt(t, r, below); h.Status != mounts.StatusOK {
		t.Errorf("the disk below is %+v, want ok", h)
	}
	list := threadsOf(r, pid)
	if len(list) != 1 || list[0].Device != "" || list[0].MountID != 0 || list[0].Path != point {
		t.Errorf("umount is %+v, want one thread that waits for %s, on no mount", list, point)
	}
	server.Heal()
}

// TestASlowDiskIsNoHang has a process wait until everything is written, to a disk that takes its time and goes on.
func TestASlowDiskIsNoHang(t *testing.T) {
	if !onNode(t) {
		return
	}
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	point := t.TempDir()
	mountImage(t, filepath.Join(server.MountPoint(), "image"), point)
	file := filepath.Join(point, "file")
	server.Delay(60 * time.Millisecond) // for 128 KiB: a request of the disk takes half a second
	if err := os.WriteFile(file, make([]byte, 48<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	pid := launch(t, "sync", "--file-system", file)
	testfuse.Await(t, "sync to wait", func() bool { return taskState(pid, pid) == "D" })
	letWait(t, 8500*time.Millisecond)

	r := examine(t, 0, "--hung-after", "2s").report(t)
	if h := healthAt(t, r, point); h.Status != mounts.StatusOK {
		t.Errorf("the slow disk is %+v, want ok", h)
	}
	if list := threadsOf(r, pid); len(list) != 1 || list[0].Path != file {
		t.Errorf("sync is %+v, want one thread that waits for %s", list, file)
	}
	server.Hang()
	letWait(t, 8500*time.Millisecond)
	r = examine(t, 0, "--hung-after", "2s").report(t)
	if h := healthAt(t, r, point); h.Status != mounts.StatusHung {
		t.Errorf("the disk that does nothing any more is %+v, want hung", h)
	}
	server.Heal()
}

// TestAnErrorOfTheDevicesLastFileSystemIsNotThisOnes gives a device, and its name, to another file system after one that had an
// error, as happens when volumes come and go.
func TestAnErrorOfTheDevicesLastFileSystemIsNotThisOnes(t *testing.T) {
	if !onNode(t) {
		return
	}
	withKernelLog(t)
	image, point := filepath.Join(t.TempDir(), "image"), t.TempDir()
	if err := os.WriteFile(image, make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skipf("losetup: %v", err)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	mount := func() {
		runTool(t, "mkfs.ext4", "-q", "-F", device)
		runTool(t, "mount", "-o", "errors=remount-ro", device, point)
		t.Cleanup(func() { _ = exec.Command("umount", "--lazy", point).Run() })
	}
	mount()
	trigger := filepath.Join("/sys/fs/ext4", filepath.Base(device), "trigger_fs_error")
	if err := os.WriteFile(trigger, []byte("test"), 0); err != nil {
		t.Skipf("no error can be made: %v", err)
	}
	about := func(r report.Report) int {
		disk := healthAt(t, r, point).Device
		return len(slices.DeleteFunc(findings(r, "mount-io-error"), func(f forensics.Finding) bool { return f.Subject.ID != disk }))
	}
	if r := examine(t, 0).report(t); about(r) != 1 {
		t.Errorf("nothing is said about the file system that had an error: %s", titles(r))
	}
	runTool(t, "umount", point)
	mount()
	if r := examine(t, 0).report(t); about(r) != 0 {
		t.Errorf("the next one is blamed for it: %s", titles(r))
	}
}

// TestADeadDiskIsFoundByWhoReadsItsDirectories has a process read what is not in memory. Reading a block of metadata looks much
// the same in a stack as waiting for a lock.
func TestADeadDiskIsFoundByWhoReadsItsDirectories(t *testing.T) {
	if !onNode(t) {
		return
	}
	for _, fsType := range []string{"ext4", "btrfs"} {
		server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
		point, image := t.TempDir(), filepath.Join(server.MountPoint(), "image")
		mountImageOf(t, fsType, image, point)
		fill(t, filepath.Join(point, "full"), 1000)
		runTool(t, "umount", point)
		runTool(t, "mount", "-o", "loop", image, point)
		server.Hang()
		pid := launch(t, "ls", "-l", filepath.Join(point, "full"))
		testfuse.Await(t, "ls to wait", func() bool { return taskState(pid, pid) == "D" })
		letWait(t, 4500*time.Millisecond)

		r := examine(t, 0, "--hung-after", "1s").report(t)
		if list := threadsOf(r, pid); len(list) != 1 || list[0].Wait.Kind != procs.WaitBlock || list[0].Wait.FS != fsType {
			t.Errorf("ls is %+v, want one thread that waits for a block of %s", list, fsType)
		}
		if h := healthAt(t, r, point); h.Status != mounts.StatusHung {
			t.Errorf("the disk of %s is %+v, want hung", fsType, h)
		}
		server.Heal()
	}
}

// fill makes a directory with more files than the kernel reads at once.
func fill(t testing.TB, dir string, count int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("a-file-with-a-long-name-%d", i)), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func runTool(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// mountImage mounts a small ext4 from an image that it makes.
func mountImage(t testing.TB, image, point string) {
	t.Helper()
	mountImageOf(t, "ext4", image, point)
}

func mountImageOf(t testing.TB, fsType, image, point string) {
	t.Helper()
	force := map[string]string{"ext4": "-F", "btrfs": "-f"}[fsType]
	if _, err := exec.LookPath("mkfs." + fsType); err != nil {
		t.Skip(err)
	}
	if err := os.MkdirAll(point, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 128<<20); err != nil {
		t.Fatal(err)
	}
	runTool(t, "mkfs."+fsType, "-q", force, image)
	runTool(t, "mount", "-o", "loop", image, point)
	t.Cleanup(func() { _ = exec.Command("umount", "--lazy", point).Run() })
}

// TestACloseIsNotBlamedOnTheNextFile has a close(2) wait while its descriptor is a file's on another mount already.
func TestACloseIsNotBlamedOnTheNextFile(t *testing.T) {
	if !onNode(t) {
		return
	}
	slow := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"file": ""}})
	other := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"file": ""}})
	fd, err := unix.Open(filepath.Join(slow.MountPoint(), "file"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	next, err := unix.Open(filepath.Join(other.MountPoint(), "file"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(next) })
	slow.HangData()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = unix.Close(fd)
	}()
	testfuse.Await(t, "the close", func() bool { return slow.Unanswered() == 1 })
	if err := unix.Dup3(next, fd, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	r := examine(t, 0, "--hung-after", "1s").report(t)
	list := threadsOf(r, os.Getpid())
	if len(list) != 1 || list[0].Wait.Kind != procs.WaitFUSE || list[0].Device != "" || list[0].Path != "" {
		t.Errorf("%+v, want one thread that waits for a FUSE server, for no known file", list)
	}
	slow.Heal()
	<-closed
	_ = unix.Close(fd)
}

// TestWhoHasADirectoryOfACoveredMountWaitsForThat has a process look for a name in a directory that it opened before another
// mount was put over it, as a driver does that mounts a dead volume once more.
func TestWhoHasADirectoryOfACoveredMountWaitsForThat(t *testing.T) {
	if !onNode(t) {
		return
	}
	point := t.TempDir()
	covered := testfuse.Mount(t, point, testfuse.Options{})
	dir, err := unix.Open(point, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	over := testfuse.Mount(t, point, testfuse.Options{})
	covered.Hang()
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		var st unix.Stat_t
		_ = unix.Fstatat(dir, "name", &st, 0)
	}()
	testfuse.Await(t, "the look-up", func() bool { return covered.Unanswered() == 1 })
	letWait(t, 1200*time.Millisecond)
	r := examine(t, 0, "--hung-after", "1s").report(t)
	list := threadsOf(r, os.Getpid())
	if len(list) != 1 || list[0].Device != covered.Device() {
		t.Errorf("%+v, want one thread that waits for %s, not for %s above it", list, covered.Device(), over.Device())
	}
	covered.Heal()
	<-looked
	_ = unix.Close(dir)
}
