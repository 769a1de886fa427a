package live

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestHoldersOfHungMount has every kind in place before the server stops.
func TestHoldersOfHungMount(t *testing.T) {
	fsys, opt := machine(t)
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	want := map[int]holders.Kind{}
	for kind, hold := range map[testfuse.Kind]holders.Kind{testfuse.Cwd: holders.HoldCwd, testfuse.Root: holders.HoldRoot, testfuse.FD: holders.HoldFD, testfuse.Mmap: holders.HoldMap} {
		path := fuse.MountPoint()
		if kind == testfuse.FD || kind == testfuse.Mmap {
			path = filepath.Join(path, string(kind))
		}
		want[testfuse.Hold(t, kind, path).PID()] = hold
	}
	fuse.Hang()
	result, err := Holders(t.Context(), fsys, HoldersOptions{
		Group: opt.Group, Keep: func(h *holders.Holder) bool { return h.Device == fuse.Device() },
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]holders.Kind{}
	for _, h := range result.Holders {
		if h.Kind != holders.HoldCwd || got[h.PID] == "" {
			got[h.PID] = h.Kind
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("holders (-want +got):\n%s", diff)
	}
	if !slices.ContainsFunc(result.FUSE, func(d holders.FUSEDevice) bool {
		return d.PID == fuse.PID() && (d.Connection == 0 || int(d.Connection) == fuse.Minor())
	}) {
		t.Errorf("the server, process %d of connection %d, is not among %+v", fuse.PID(), fuse.Minor(), result.FUSE)
	}
	t.Logf("servers: %+v", result.FUSE)
}

// TestServerInChroot opens the device of FUSE by another path, as a server below the root of a chroot has it.
func TestServerInChroot(t *testing.T) {
	fsys, opt := machine(t)
	dir, point := filepath.Join(t.TempDir(), "dev"), t.TempDir()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	device := filepath.Join(dir, "fuse")
	if err := unix.Mknod(device, unix.S_IFCHR|0o600, int(unix.Mkdev(10, 229))); err != nil {
		t.Skip(err)
	}
	server, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = server.Close() }()
	err = testvm.OnThread(func() error { // in a namespace of its own, so that nobody asks the server, which does not answer
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount("test", point, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", server.Fd()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := Holders(t.Context(), fsys, HoldersOptions{Group: opt.Group})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(result.FUSE, func(d holders.FUSEDevice) bool { return d.PID == os.Getpid() && d.FD == int(server.Fd()) }) {
		t.Errorf("this process has %s open and is not among the servers %+v", device, result.FUSE)
	}
}
