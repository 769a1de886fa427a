package hostfs

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestStatfsSaysWhatTheKernelSays(t *testing.T) {
	noDescriptorsLost(t)
	root := tree(t, map[string]string{"a/b": "x", "link": "-> /a"})
	f := openFS(t, root, false)
	var want unix.Statfs_t
	must(t, unix.Statfs(root, &want))
	for _, name := range []string{"/", "/a", "/link", "/a/b"} {
		got, err := f.Statfs(name)
		if err != nil {
			t.Fatal(err)
		}
		if got.CapacityBytes != want.Blocks*uint64(want.Frsize) || got.Inodes != want.Files || got.Dev == 0 {
			t.Errorf("Statfs(%s) = %+v, want what statfs says: %+v", name, got, want)
		}
		if got.AvailableBytes > got.FreeBytes || got.FreeBytes > got.CapacityBytes || got.InodesFree > got.Inodes {
			t.Errorf("Statfs(%s) = %+v: more is free than there is", name, got)
		}
	}
	if _, err := f.Statfs("/missing"); err == nil {
		t.Error("Statfs of what is not there has no error")
	}
}

func TestScanDescribesEveryEntryButMountPoints(t *testing.T) {
	both(t, func(t *testing.T, weak bool) {
		noDescriptorsLost(t)
		root := tree(t, map[string]string{"file": "12345", "dir/inner": "x", "link": "-> file", "mnt/": ""})
		must(t, os.Link(filepath.Join(root, "file"), filepath.Join(root, "hard")))
		must(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o600))
		want := []string{"dir", "fifo", "file", "hard", "link", "mnt"}
		if os.Geteuid() == 0 {
			fuse := testfuse.Mount(t, filepath.Join(root, "mnt"), testfuse.Options{})
			fuse.Hang()
			want = want[:len(want)-1]
		}
		got := map[string]nodefs.Info{}
		must(t, openDir(t, root, weak).Scan(func(name string, info nodefs.Info) bool {
			got[name] = info
			return true
		}))
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
		file, err := openFS(t, root, weak).Lstat("/file")
		must(t, err)
		if diff := cmp.Diff(file, got["file"]); diff != "" {
			t.Errorf("file differs from Lstat (-want +got):\n%s", diff)
		}
		if got["hard"].Ino != file.Ino || got["hard"].Nlink != 2 || !got["dir"].Mode.IsDir() || got["link"].Mode.Type() != os.ModeSymlink {
			t.Errorf("entries %+v", got)
		}
		seen := 0
		must(t, openDir(t, root, weak).Scan(func(string, nodefs.Info) bool { seen++; return false }))
		if seen != 1 {
			t.Errorf("went on for %d entries after it was told to stop", seen)
		}
	})
}
