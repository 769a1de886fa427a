package live

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// holdersOn are the holders of this process on a mount, where nothing else is wanted. before is called when the mount table
// has been read, and no process yet.
func holdersOn(t *testing.T, want mounts.Mount, before func()) []holders.Holder {
	t.Helper()
	fsys, opt := machine(t)
	first := true
	result, err := Holders(t.Context(), fsys, HoldersOptions{
		Group: opt.Group, Keep: func(h *holders.Holder) bool { return h.PID == os.Getpid() && h.MountID == want.ID },
		Mounts: func(id int, _ string) bool {
			if first {
				first = false
				before()
			}
			return id == want.ID
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return on(result.Holders, func(holders.Holder) bool { return true })
}

func open(t *testing.T, name string) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
}

// mapFile makes a file and has it in memory, without a descriptor.
func mapFile(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	_ = file.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(memory) })
}

func mkdir(t *testing.T, elem ...string) string {
	t.Helper()
	name := filepath.Join(elem...)
	if err := os.Mkdir(name, 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestHoldersOfOneMount leaves out what the path shows to lie on another mount, and nothing else.
func TestHoldersOfOneMount(t *testing.T) {
	t.Run("one of many", func(t *testing.T) {
		dir, m := tmpfs(t)
		other, _ := tmpfs(t)
		open(t, filepath.Join(dir, "a"))
		open(t, filepath.Join(other, "b"))
		want := []holders.Holder{{PID: os.Getpid(), Kind: holders.HoldFD, Path: filepath.Join(dir, "a"), MountID: m.ID, Device: m.Device}}
		if diff := cmp.Diff(want, holdersOn(t, m, func() {})); diff != "" {
			t.Errorf("holders (-want +got):\n%s", diff)
		}
	})
	t.Run("opened before another mount was made on its directory", func(t *testing.T) {
		dir, m := tmpfs(t)
		sub := mkdir(t, dir, "sub")
		open(t, filepath.Join(sub, "a"))
		mountAt(t, "upper", sub, "tmpfs", 0, "")
		want := []holders.Holder{{PID: os.Getpid(), Kind: holders.HoldFD, Path: filepath.Join(sub, "a"), MountID: m.ID, Device: m.Device}}
		if diff := cmp.Diff(want, holdersOn(t, m, func() {})); diff != "" {
			t.Errorf("holders (-want +got):\n%s", diff)
		}
	})
	t.Run("a file without a name", func(t *testing.T) {
		dir, _ := tmpfs(t)
		open(t, filepath.Join(dir, "a"))
		mapFile(t, filepath.Join(dir, "b"))
		for _, name := range []string{"a", "b"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		fsys, opt := machine(t)
		result, err := Holders(t.Context(), fsys, HoldersOptions{
			Group: opt.Group, Keep: func(h *holders.Holder) bool { return h.Deleted }, Mounts: func(int, string) bool { return false },
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, kind := range map[string]holders.Kind{"a": holders.HoldFD, "b": holders.HoldMap} {
			if !slices.ContainsFunc(result.Holders, func(h holders.Holder) bool {
				return h.PID == os.Getpid() && h.Kind == kind && h.Path == filepath.Join(dir, name)
			}) {
				t.Errorf("holders %+v, want the file %s that was removed, by %s", result.Holders, name, kind)
			}
		}
	})
	t.Run("moved onto another mount while the processes are read", func(t *testing.T) {
		outer, _ := tmpfs(t)
		if err := unix.Mount("", outer, "", unix.MS_PRIVATE, ""); err != nil { // else it does not let go of what is moved
			t.Fatal(err)
		}
		from, to := mkdir(t, outer, "from"), mkdir(t, outer, "to")
		mountAt(t, "onto", to, "tmpfs", 0, "")
		m := mountAt(t, "moved", from, "tmpfs", 0, "")
		open(t, filepath.Join(from, "a"))
		at := mkdir(t, to, "at")
		t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
		got := holdersOn(t, m, func() {
			if err := unix.Mount(from, at, "", unix.MS_MOVE, ""); err != nil {
				t.Fatal(err)
			}
		})
		want := []holders.Holder{{PID: os.Getpid(), Kind: holders.HoldFD, Path: filepath.Join(at, "a"), MountID: m.ID, Device: m.Device}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("holders (-want +got):\n%s", diff)
		}
	})
	t.Run("mapped before another mount was made on its directory", func(t *testing.T) {
		dir, m := tmpfs(t)
		sub := mkdir(t, dir, "sub")
		name := filepath.Join(sub, "a")
		mapFile(t, name)
		mountAt(t, "upper", sub, "tmpfs", 0, "")
		want := []holders.Holder{{PID: os.Getpid(), Kind: holders.HoldMap, Path: name, MountID: m.ID, Device: m.Device}}
		if diff := cmp.Diff(want, holdersOn(t, m, func() {})); diff != "" {
			t.Errorf("holders (-want +got):\n%s", diff)
		}
	})
}
