package hostfs_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// TestOwner asks for the owners of the test's own mount namespace and of one that nobody made in a user namespace.
func TestOwner(t *testing.T) {
	fsys, err := hostfs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	proc, err := fsys.OpenDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = proc.Close() }()
	inode := func(pid int, kind string) uint64 {
		t.Helper()
		link, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseUint(link[len(kind)+2:len(link)-1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
	}
	if err := other.Start(); err != nil {
		t.Skipf("needs user namespaces: %v", err)
	}
	t.Cleanup(func() { _, _ = other.Process.Kill(), other.Wait() })
	for _, pid := range []int{os.Getpid(), other.Process.Pid} {
		namespace, owner, err := proc.Owner(strconv.Itoa(pid) + "/ns/mnt")
		if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EPERM) {
			t.Skipf("needs Linux 4.9 and its own user namespace: %v", err)
		}
		if err != nil || namespace != inode(pid, "mnt") || owner != inode(pid, "user") {
			t.Errorf("process %d: namespace %d of %d (%v), want %d of %d", pid, namespace, owner, err, inode(pid, "mnt"), inode(pid, "user"))
		}
	}
	for _, rel := range []string{"self/cwd", "self/exe", "1/../1/ns/mnt", "/proc/1/ns/mnt"} {
		if _, _, err := proc.Owner(rel); err == nil {
			t.Errorf("%s has an owner", rel)
		}
	}
	captured, err := fsys.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = captured.Close() }()
	if err := os.Symlink("/proc/self/ns/mnt", captured.Path()+"/link"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := captured.Owner("link"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a link outside of /proc is followed: %v", err)
	}
}
