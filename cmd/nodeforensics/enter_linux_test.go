package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/report"
)

// TestAContainerEntersTheHost runs the program in what a pod with hostPID is: the process table of the node, a root directory
// of its own, other mounts, another network and another host name. The report is about the node, and is on its disk.
func TestAContainerEntersTheHost(t *testing.T) {
	if !onNode(t) {
		return
	}
	kubeletRoot, reports, root := t.TempDir(), t.TempDir(), scratchImage(t)
	volume := filepath.Join(kubeletRoot, "pods", livePod, "volumes/kubernetes.io~csi/data/mount")
	if err := os.MkdirAll(volume, 0o755); err != nil {
		t.Fatal(err)
	}
	testfuse.Mount(t, volume, testfuse.Options{Type: "fuse.test"})
	startKubelet(t, kubeletRoot)
	if o := finish(t, inContainer(t, root, "--output-dir", reports, "--no-logs")); o.status != exitDone || strings.Contains(o.stderr, "container") {
		t.Fatalf("exit status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	r := readReport(t, onlyFile(t, reports, ".json"))
	if r.Node.Name != nodeName {
		t.Errorf("the report is about %q, want %q", r.Node.Name, nodeName)
	}
	if k := r.Evidence.Kubelet; k == nil || k.RootDir != kubeletRoot {
		t.Errorf("the kubelet is %+v, want one on %s", k, kubeletRoot)
	}
	if s := coverage(t, r, forensics.SourceKubeletPods); s.Status != forensics.SourceRead { // it listens on the loopback device of the node
		t.Errorf("the kubelet was not asked: %+v", s)
	}
	if o := finish(t, inContainer(t, root, "holders", volume)); o.status != exitDone || !strings.Contains(o.stdout, "fuse.test") {
		t.Errorf("holders: exit status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
}

// TestAContainerThatMayNotEnterTheHost says so. In a mount namespace with the root directory of the host, as after chroot /host or
// unshare --mount, there is nothing to enter.
func TestAContainerThatMayNotEnterTheHost(t *testing.T) {
	if !onNode(t) {
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	refused := separate(t, exe, strconv.Itoa(unix.SYS_SETNS), "--", "/bin/sh", "sh", "-c", `exec chroot "$0" /nodeforensics -o json --no-logs --no-probe`, scratchImage(t))
	refused.Env = nodeEnvironment(nodeRefuse)
	const note = "cannot enter it: the cgroup namespace of process 1: operation not permitted"
	if o := finish(t, refused); o.status != exitDone || !strings.Contains(o.stderr, note) {
		t.Errorf("exit status %d, want a note %q\n%s", o.status, note, o.stderr)
	}
	same := finish(t, separate(t, program(t, programName), "-o", "json", "--no-logs", "--no-probe"))
	if r, err := report.Read(strings.NewReader(same.stdout)); err != nil || r.Node.Name != "inside" || strings.Contains(same.stderr, "container") {
		t.Errorf("%v; the report is about %q, want inside\n%s", err, r.Node.Name, same.stderr)
	}
}

// scratchImage is a directory with the program, a /proc, and the libraries that a program with the race detector needs.
func scratchImage(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	copyFile(t, program(t, programName), filepath.Join(root, "nodeforensics"))
	for _, dir := range []string{"/proc", "/lib", "/lib64", "/usr/lib"} {
		to := filepath.Join(root, dir)
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(dir, to, "", unix.MS_BIND, ""); errors.Is(err, unix.ENOENT) {
			continue // not of this architecture
		} else if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) })
	}
	return root
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, []byte(readFile(t, from)), 0o755); err != nil {
		t.Fatal(err)
	}
}

// inContainer is a run of the program in a container that has the process table of the node: it has another host name.
func inContainer(t *testing.T, root string, args ...string) *exec.Cmd {
	t.Helper()
	return separate(t, append([]string{"chroot", root, "/nodeforensics"}, args...)...)
}

// separate is a run of a command in namespaces of its own.
func separate(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `echo inside >/proc/sys/kernel/hostname; exec "$@"`, "sh"}, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP}
	return cmd
}
