package collect

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/foreign"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// TestMountedMeanwhileIsNotLeaked mounts a volume after the host's table was read, as the kubelet does while it is
// examined. A namespace that receives the host's mounts, and is read later, has it.
func TestMountedMeanwhileIsNotLeaked(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	fsys, err := hostfs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	before, err := mountslive.Read(t.Context(), fsys, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	point := filepath.Join(t.TempDir(), "pods/5c948341-c030-4996-b888-f032577d97b0/volumes/kubernetes.io~csi/new/mount")
	if err := os.MkdirAll(point, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("new", point, "tmpfs", 0, ""); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH) })
	after, err := mountslive.Read(t.Context(), fsys, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	list := foreign.NewLeaks(&before).In(&after, func(p string) bool { return p == point })
	at := slices.IndexFunc(list, func(l foreign.Leak) bool { return l.Mount.MountPoint == point })
	if at < 0 {
		t.Fatal("the volume is not among those that the first table lacks")
	}
	if list[at].On != point {
		t.Errorf("it lies on %q, want %q", list[at].On, point)
	}
	gone := list[at].Mount
	gone.Device = "0:0" // of a file system that is unmounted
	leaked := []forensics.ForeignMount{{Namespace: 1, Mount: list[at].Mount, On: point}, {Namespace: 1, Mount: gone, On: point}}
	mountedSince(t.Context(), fsys, &before, leaked)
	if !leaked[0].MountedSince || leaked[1].MountedSince {
		t.Errorf("%+v, want that the first was mounted since", leaked)
	}
}
