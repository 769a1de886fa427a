package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// mountNow mounts until the test is over, and makes the mount point.
func mountNow(t testing.TB, source, point, fsType string, flags uintptr) {
	t.Helper()
	if err := os.MkdirAll(point, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(source, point, fsType, flags, ""); err != nil {
		t.Fatalf("mount %s on %s: %v", source, point, err)
	}
	t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) })
}

// TestKubeletDirectoryBoundOntoItself has the kubelet's directory as services make it shared: bound onto itself, once more
// with each start, as a peer of what it lies on. Each volume below it then is in the mount table several times.
func TestKubeletDirectoryBoundOntoItself(t *testing.T) {
	if !onNode(t) {
		return
	}
	for name, root := range map[string]string{"on a disk": "disk/kubelet", "a disk": "disk"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			root := filepath.Join(dir, root)
			mountNow(t, "disk", filepath.Join(dir, "disk"), "tmpfs", 0)
			if err := unix.Mount("", filepath.Join(dir, "disk"), "", unix.MS_SHARED, ""); err != nil {
				t.Fatal(err)
			}
			mountNow(t, root, root, "", unix.MS_BIND)
			mountNow(t, root, root, "", unix.MS_BIND)
			staged := filepath.Join(root, "plugins/kubernetes.io/csi/pv/one/globalmount")
			once, twice := volume{plugin: "kubernetes.io~csi", name: "one"}, volume{plugin: "kubernetes.io~csi", name: "two"}
			mountNow(t, "disk", staged, "tmpfs", 0)
			mountNow(t, staged, once.path(root, livePod), "", unix.MS_BIND)
			mountNow(t, staged, twice.path(root, livePod), "", unix.MS_BIND)
			startKubelet(t, root)
			if list := findings(examine(t, 0).report(t), "mount-stacked"); len(list) != 0 {
				t.Errorf("%d mount points have a stack, want none: %+v", len(list), list)
			}

			mountNow(t, staged, twice.path(root, livePod), "", unix.MS_BIND)
			// The volume is its own peer at three places, and has a mount on top at each of them now.
			list := findings(examine(t, 0).report(t), "mount-stacked")
			if len(list) != 1 || len(list[0].Subjects) != 3 {
				t.Fatalf("want one finding about 3 mount points: %+v", list)
			}
			for _, point := range []string{staged, once.path(root, livePod), twice.path(root, livePod)} {
				if !strings.Contains(list[0].Detail, point) {
					t.Errorf("it does not name %s: %s", point, list[0].Detail)
				}
			}
		})
	}
}

// keepConnection starts a process that has a server's connection open and never reads from it, as those that keep it for
// the next server do.
func keepConnection(t testing.TB, server *testfuse.Server) *exec.Cmd {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", server.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range fds {
		if link, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", server.PID(), entry.Name())); link != "/dev/fuse" {
			continue
		}
		fd, _ := strconv.Atoi(entry.Name())
		process, err := unix.PidfdOpen(server.PID(), 0)
		if err != nil {
			t.Skip(err)
		}
		defer func() { _ = unix.Close(process) }()
		copied, err := unix.PidfdGetfd(process, fd, 0)
		if err != nil {
			t.Skip(err)
		}
		connection := os.NewFile(uintptr(copied), "connection")
		defer func() { _ = connection.Close() }()
		sleeper := exec.Command("sleep", "1000")
		sleeper.ExtraFiles = []*os.File{connection}
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = sleeper.Process.Kill()
			_ = sleeper.Wait()
		})
		return sleeper
	}
	t.Fatalf("process %d has no connection", server.PID())
	return nil
}

func TestAStoppedProcessWithAConnectionIsNotItsServer(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	server := mountVolume(t, root, livePod, someVolume())
	sleeper := keepConnection(t, server)
	startKubelet(t, root)
	stop := func(signal unix.Signal, state string) {
		if err := sleeper.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		testfuse.Await(t, "the process with the connection to be "+state, func() bool { return taskState(sleeper.Process.Pid, sleeper.Process.Pid) == state })
	}
	stop(unix.SIGSTOP, "T")
	if list := findings(examine(t, 0).report(t), "fuse-server-dead"); len(list) != 0 {
		t.Errorf("the mount answers: %+v", list)
	}

	stop(unix.SIGCONT, "S")
	server.Stop()
	f := finding(t, examine(t, 0, "--hung-after", "2s").report(t), "fuse-server-dead")
	if f.Subject.ID != strconv.Itoa(server.PID()) || f.Confidence != forensics.Possible {
		t.Errorf("%s: %v, want the possible process %d", f.Title, f.Confidence, server.PID())
	}
	if !strings.Contains(f.ConfidenceWhy, fmt.Sprintf("process %d (sleep)", sleeper.Process.Pid)) {
		t.Errorf("%q does not name the process with the connection", f.ConfidenceWhy)
	}
}

// TestAFileFromOutsideOfANodeIsNotDetached runs the program on a node that is a container: its processes have files open
// of a mount namespace, that of the machine, whose processes are not seen there.
func TestAFileFromOutsideOfANodeIsNotDetached(t *testing.T) {
	if !onNode(t) {
		return
	}
	point := t.TempDir()
	mountNow(t, "outside", point, "tmpfs", 0)
	file, err := os.Create(filepath.Join(point, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := unix.Unmount(point, unix.MNT_DETACH); err != nil { // as good as a mount of another namespace
		t.Fatal(err)
	}
	startKubelet(t, t.TempDir())
	if list := findings(examine(t, 0).report(t), "mount-detached"); len(list) != 0 {
		t.Errorf("its namespace may not be seen: %+v", list)
	}
}
