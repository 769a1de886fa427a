package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// The ioctls of fsfreeze(8): _IOWR('X', 119, int) and the next, of linux/fs.h.
const (
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

// TestFrozenFileSystem freezes an ext4 file system on a loop device, and looks at who wants to write.
func TestFrozenFileSystem(t *testing.T) {
	fsys, opt := machine(t)
	dir := mountExt4(t)
	c := start(t, job{CPU: -1, Call: "mkdir", Path: dir + "/new"})
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetInt(fd, fiFreeze, 0); err != nil {
		t.Skipf("cannot freeze: %v", err)
	}
	thaw := func() error { return unix.IoctlSetInt(fd, fiThaw, 0) }
	t.Cleanup(func() {
		_ = thaw() // EINVAL if the test has done it
		_ = unix.Close(fd)
	})
	c.call(t)
	got := await(t, fsys, opt, c.tid)
	if got.Wait.Kind != procs.WaitFrozen || got.State != "D" || got.Wait.Kill != "no" {
		t.Errorf("state %s, wait %+v, wchan %q, stack %q; want a frozen file system", got.State, got.Wait, got.WChan, got.Stack)
	}
	if want := mountID(t, fsys, c.tid, dir); got.Path != dir+"/new" || got.MountID != want {
		t.Errorf("path %q on mount %d; want %q on %d", got.Path, got.MountID, dir+"/new", want)
	}
	if err := thaw(); err != nil {
		t.Fatal(err)
	}
	testfuse.Await(t, "the thread to go on", func() bool { return Resample(t.Context(), fsys, []procs.Thread{got}, opt)[0].Gone })
}

// mountExt4 makes and mounts a small file system until the test ends.
func mountExt4(t *testing.T) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 16<<20); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("needs %q: %v: %s", args, err, out)
		}
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			_ = unix.Unmount(dir, unix.MNT_DETACH)
		}
	})
	return dir
}
