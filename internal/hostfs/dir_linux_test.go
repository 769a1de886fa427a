package hostfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

func TestDirPaths(t *testing.T) {
	noDescriptorsLost(t)
	root := tree(t, map[string]string{
		"a/b/file": "x", "link": "-> a", "a/up": "-> ..", "a/filelink": "-> b/file", "file": "x", "dots/..x": "x", "dots/x..": "x",
	})
	both(t, func(t *testing.T, weak bool) {
		d := openDir(t, root, weak)
		if d.Weak() != weak || d.Path() != "/" {
			t.Errorf("weak %v, path %q", d.Weak(), d.Path())
		}
		for _, path := range []string{"a/b/file", "./a/./b/file", "a//b///file", "dots/..x", "dots/x.."} {
			if data, err := d.ReadFile(path, 10); err != nil || string(data) != "x" {
				t.Errorf("%s: %q, %v", path, data, err)
			}
		}
		for path, want := range map[string]error{
			"":              fs.ErrInvalid,
			"/a/b/file":     fs.ErrInvalid,
			"..":            fs.ErrInvalid,
			"../x":          fs.ErrInvalid,
			"a/../file":     fs.ErrInvalid,
			"a/..":          fs.ErrInvalid,
			"link":          nodefs.ErrSymlink,
			"link/b/file":   nodefs.ErrSymlink,
			"link/.":        nodefs.ErrSymlink,
			"a/up/file":     nodefs.ErrSymlink,
			"a/filelink":    nodefs.ErrSymlink,
			"file/x":        unix.ENOTDIR,
			"a/none":        fs.ErrNotExist,
			"none/file":     fs.ErrNotExist,
			"a\x00/b":       unix.EINVAL,
			"a":             nodefs.ErrNotRegular,
			"a/b":           nodefs.ErrNotRegular,
			"a/b/file/./..": fs.ErrInvalid,
		} {
			_, err := d.ReadFile(path, 10)
			wantErr(t, "ReadFile of "+path, err, want)
		}
		below, err := d.OpenDir("a/./b/")
		must(t, err)
		defer below.Close()
		if below.Path() != "/a/b" || below.Weak() != weak {
			t.Errorf("weak %v, path %q", below.Weak(), below.Path())
		}
		if data, err := below.ReadFile("file", 10); err != nil || string(data) != "x" {
			t.Errorf("%q, %v", data, err)
		}
		_, err = d.OpenDir("link")
		wantErr(t, "OpenDir of a link", err, nodefs.ErrSymlink)
		_, err = d.OpenDir("file")
		wantErr(t, "OpenDir of a file", err, unix.ENOTDIR)
	})
}

func TestFSOpenDirIsCanonical(t *testing.T) {
	f := openFS(t, tree(t, map[string]string{"data/kubelet/pods/": "", "var/lib/kubelet": "-> /data/kubelet"}), false)
	d, err := f.OpenDir("/var/lib/kubelet/pods")
	must(t, err)
	defer d.Close()
	if d.Path() != "/data/kubelet/pods" {
		t.Error(d.Path())
	}
}

func TestEntries(t *testing.T) {
	root := tree(t, map[string]string{"dir/": "", "file": "x", "link": "-> nowhere", ".hidden": "x"})
	special(t, root)
	strange := []string{strings.Repeat("n", 255), "new\nline", "\xff\xfe", "..x", "-rf"}
	for _, name := range strange {
		must(t, os.WriteFile(root+"/"+name, nil, 0o644))
	}
	want := []nodefs.Entry{
		{Name: ".hidden", TypeKnown: true},
		{Name: "dir", Type: fs.ModeDir, TypeKnown: true},
		{Name: "fifo", Type: fs.ModeNamedPipe, TypeKnown: true},
		{Name: "file", TypeKnown: true},
		{Name: "link", Type: fs.ModeSymlink, TypeKnown: true},
		{Name: "socket", Type: fs.ModeSocket, TypeKnown: true},
	}
	if os.Geteuid() == 0 {
		want = append(want,
			nodefs.Entry{Name: "block", Type: fs.ModeDevice, TypeKnown: true},
			nodefs.Entry{Name: "device", Type: fs.ModeDevice | fs.ModeCharDevice, TypeKnown: true})
	}
	for _, name := range strange {
		want = append(want, nodefs.Entry{Name: name, TypeKnown: true})
	}
	slices.SortFunc(want, func(a, b nodefs.Entry) int { return strings.Compare(a.Name, b.Name) })
	both(t, func(t *testing.T, weak bool) {
		got, err := openDir(t, root, weak).Entries(100)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	got, err := openFS(t, root, false).ReadDir("/", 100)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ReadDir: -want +got\n%s", diff)
	}
}

func TestManyEntries(t *testing.T) {
	root := t.TempDir()
	const n = 3000
	for i := range n {
		must(t, os.WriteFile(fmt.Sprintf("%s/%d-%s", root, i, strings.Repeat("x", i%200)), nil, 0o644))
	}
	d := openDir(t, root, false)
	for range 2 { // each listing begins at the beginning
		got, err := d.Entries(n)
		if err != nil || len(got) != n || !slices.IsSortedFunc(got, func(a, b nodefs.Entry) int { return strings.Compare(a.Name, b.Name) }) {
			t.Fatalf("%d entries, %v", len(got), err)
		}
	}
	for _, limit := range []int{n - 1, 1, 0, -1} {
		got, err := d.Entries(limit)
		if wantErr(t, "too many", err, nodefs.ErrTruncated); len(got) != max(limit, 0) {
			t.Errorf("limit %d: %d entries", limit, len(got))
		}
	}
	if got, err := openDir(t, t.TempDir(), false).Entries(0); err != nil || got == nil || len(got) != 0 {
		t.Errorf("empty directory: %v, %v", got, err)
	}
}

func TestDeepTree(t *testing.T) {
	root := t.TempDir()
	deep := root + strings.Repeat("/d", 500)
	must(t, os.MkdirAll(deep, 0o755))
	must(t, os.WriteFile(deep+"/file", []byte("x"), 0o644))
	both(t, func(t *testing.T, weak bool) {
		noDescriptorsLost(t)
		d := openDir(t, root, weak)
		if data, err := d.ReadFile(strings.Repeat("d/", 500)+"file", 10); err != nil || string(data) != "x" {
			t.Errorf("%q, %v", data, err)
		}
		f := openFS(t, root, weak)
		if got, err := f.Resolve(strings.Repeat("d/", 500) + strings.Repeat("../", 499)); err != nil || got != "/d" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestUnreadableDirectory(t *testing.T) {
	root := tree(t, map[string]string{"closed/file": "x"})
	must(t, os.Chmod(filepath.Join(root, "closed"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(root, "closed"), 0o755) })
	d := openDir(t, root, false)
	if os.Geteuid() == 0 { // root may read everything; a thread with another file system user may not
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		const nobody = 65534
		must(t, unix.Setfsuid(nobody))
		defer func() { _ = unix.Setfsuid(0) }()
	}
	_, err := d.ReadFile("closed/file", 10)
	wantErr(t, "closed", err, fs.ErrPermission)
}

func TestIsLocal(t *testing.T) {
	for rel, want := range map[string]bool{
		".": true, "a": true, "a/b": true, "a/": true, "..a": true, "a..": true, "...": true,
		"": false, "/": false, "/a": false, "..": false, "../a": false, "a/..": false, "a/../b": false, "a/b/../": false,
	} {
		if got := isLocal(rel); got != want {
			t.Errorf("isLocal(%q) = %v", rel, got)
		}
	}
}

func FuzzDirents(f *testing.F) {
	dir, err := unix.Open("/", listFlags, 0)
	must(f, err)
	buf := make([]byte, 4096)
	n, err := unix.Getdents(dir, buf)
	must(f, err)
	must(f, unix.Close(dir))
	f.Add(buf[:n])
	f.Add(buf[:n-1])
	f.Fuzz(func(t *testing.T, buf []byte) {
		entries, _ := appendEntries(nil, buf)
		if len(entries) > len(buf)/(direntName+1) {
			t.Errorf("%d entries in %d bytes", len(entries), len(buf))
		}
		for _, e := range entries {
			if e.Name == "" || e.Name == "." || e.Name == ".." || strings.ContainsAny(e.Name, "/\x00") {
				t.Errorf("name %q", e.Name)
			}
			if !e.TypeKnown && e.Type != 0 {
				t.Errorf("unknown type %v", e.Type)
			}
		}
	})
}

// TestDirInfo describes the directory itself as Lstat does.
func TestDirInfo(t *testing.T) {
	d := openDir(t, tree(t, map[string]string{"a": "x"}), false)
	want, err := d.Lstat(".")
	must(t, err)
	got, err := d.Info()
	must(t, err)
	if got != want || !got.Mode.IsDir() {
		t.Errorf("Info = %+v; want %+v", got, want)
	}
	must(t, d.Close())
	if _, err := d.Info(); err == nil {
		t.Error("a closed directory was described")
	}
}
