package collect_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestInventedLeak has somebody mount a memory file system at the place of another pod's volume in a mount namespace of his own,
// as nobody with a user namespace, and as root of the host in a container's own tree. The host never had that mount: it is no
// leak of that pod, and no step goes there. A copy of a mount that the host had is one.
func TestInventedLeak(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	uid := testfuse.NewUID()
	nobody := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: 65534, Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: 65534, Size: 1}},
		Credential: &syscall.Credential{NoSetGroups: true},
	}
	root := &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	const ownTree = `mount -t tmpfs own "$1" && mkdir -p "$2" && mount -t tmpfs invented "$2"`
	for name, c := range map[string]struct {
		as     *syscall.SysProcAttr
		script string
		before bool // the host has it, and unmounts it later
		leak   bool // the finding is a warning that names the pod
	}{
		"nobody, in a tree of his own":            {as: nobody, script: ownTree},
		"nobody, on the host's directory":         {as: nobody, script: `mount -t tmpfs invented "$2"`},
		"root, in a container's tree":             {as: root, script: ownTree},
		"root, in the content of a volume":        {as: root, script: `mount -t tmpfs invented "$2/content"`},
		"a private copy of what the host had":     {as: root, script: "true", before: true, leak: true},
		"nobody's copy of what the host once had": {as: nobody, script: "true", before: true},
	} {
		t.Run(name, func(t *testing.T) {
			kubeletRoot := filepath.Join(openTempDir(t), "kubelet")
			point := filepath.Join(kubeletRoot, "pods", uid, "volumes/kubernetes.io~empty-dir/cache")
			if err := os.MkdirAll(point+"/content", 0o755); err != nil {
				t.Fatal(err)
			}
			if c.before {
				mountFor(t, "invented", point, "tmpfs", 0, "")
			}
			inside := exec.Command("sh", "-c", c.script+` && echo ready && exec sleep 1000`, "sh", kubeletRoot, point)
			inside.SysProcAttr = c.as
			awaitReady(t, inside)
			if c.before {
				if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
					t.Fatal(err)
				}
			}
			e, err := collect.Holders(t.Context(), collect.Options{}, uid)
			if err != nil {
				t.Fatal(err)
			}
			e.Kubelet = &kubelet.Instance{RootDir: kubeletRoot, CanonicalRoot: kubeletRoot}
			warned := false
			for _, f := range forensics.Analyze(&e, only(t, "mount-leaked-namespace")).Findings {
				if !slices.Contains(f.Because, forensics.Entity{Kind: forensics.KindProcess, ID: strconv.Itoa(inside.Process.Pid)}) {
					continue // another test may have copied mounts, too
				}
				if f.Severity != forensics.Info || len(f.Pods) > 0 {
					warned = true
				}
				for _, r := range f.Remedies {
					if want := "kill " + strconv.Itoa(inside.Process.Pid); r.String() != want || !c.leak {
						t.Errorf("step %q of %s %q, want %q for a leak, and none else", r.String(), f.Severity, f.Title, want)
					}
				}
			}
			if warned != c.leak {
				t.Errorf("a warning or a pod named: %v, want %v; leaked %+v", warned, c.leak, e.MountUse.Foreign)
			}
		})
	}
}

// openTempDir is a directory of the test that others can look into.
func openTempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// awaitReady starts a program that runs until the end of the test, and waits for it to say "ready".
func awaitReady(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout // what goes wrong is said in place of "ready"
	startUntilEnd(t, cmd)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
}
