package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file of so many bytes, and the directories above it.
func write(t testing.TB, size int, elements ...string) string {
	t.Helper()
	name := filepath.Join(elements...)
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, make([]byte, size), 0o644))
	return name
}

// mountLoop makes an ext4 file system of its own and mounts it until the test ends.
func mountLoop(t testing.TB, bytes int64, mkfs ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	for _, tool := range []string{"mkfs.ext4", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s", tool)
		}
	}
	image, point := filepath.Join(testfuse.InMemory(t), "disk"), t.TempDir()
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, bytes))
	for _, args := range [][]string{append(append([]string{"mkfs.ext4", "-q", "-F"}, mkfs...), image), {"mount", "-o", "loop", image, point}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	t.Cleanup(func() {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", point, err)
		}
	})
	return point
}

func openRoot(t testing.TB, root string) *hostfs.FS {
	t.Helper()
	fsys, err := hostfs.Open(root)
	must(t, err)
	t.Cleanup(func() { _ = fsys.Close() })
	return fsys
}

// figures are those of the file system below a directory.
func figures(t testing.TB, fsys *hostfs.FS) eviction.FileSystem {
	t.Helper()
	st, err := fsys.Statfs("/")
	must(t, err)
	return eviction.FileSystem{
		Device: "7:0", CapacityBytes: st.CapacityBytes, FreeBytes: st.FreeBytes, AvailableBytes: st.AvailableBytes,
		Inodes: st.Inodes, InodesFree: st.InodesFree,
	}
}
