package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

func openFS(t testing.TB, root string) *hostfs.FS {
	t.Helper()
	fsys, err := hostfs.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	return fsys
}

// inode is the number of a mount namespace as another program would find it.
func inode(t testing.TB, pid int) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/ns/mnt", pid), &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}

func TestReadSelf(t *testing.T) {
	got, err := Read(t.Context(), openFS(t, "/"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got.PID != os.Getpid() || got.Root != "/" || got.Namespace != inode(t, os.Getpid()) {
		t.Errorf("pid %d, root %q, namespace %d; want %d, /, %d", got.PID, got.Root, got.Namespace, os.Getpid(), inode(t, os.Getpid()))
	}
	if m, ok := got.Index().Covering("/proc/1/stat"); !ok || m.FSType != "proc" {
		t.Errorf("/proc/1/stat lies on %+v; want proc", m)
	}
}

// TestReadNamespace makes mounts of all kinds of shapes in a namespace of its own and asks the kernel for every path
// which mount it lies on.
func TestReadNamespace(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	host := newGuest(t, newNamespace)
	var made error
	host.run(func() { made = makeShapes(dir) })
	if made != nil {
		t.Fatal(made)
	}
	got, err := Read(t.Context(), openFS(t, "/"), host.tid)
	if err != nil {
		t.Fatal(err)
	}
	if got.PID != host.tid || got.Root != "/" || got.Namespace != inode(t, host.tid) || got.Namespace == inode(t, os.Getpid()) {
		t.Errorf("pid %d, root %q, namespace %d; want those of thread %d", got.PID, got.Root, got.Namespace, host.tid)
	}
	x := got.Index()
	for _, rel := range []string{
		".", "plain", "plain/sub", "stack", "stack/x", "covered", "covered/below", "covered/below/x", "bind", "bind/in",
		"bind/in/x", "file", "odd \t\n\\#\xff", "slave", "slave/x",
	} {
		name := filepath.Join(dir, rel)
		var want int
		host.run(func() { want = mountOf(t, name) })
		m, _ := x.Covering(name)
		if m.ID != want {
			t.Errorf("%q lies on mount %d; want %d", name, m.ID, want)
		}
		if !x.Visible(m.ID) {
			t.Errorf("mount %d of %q is not visible", m.ID, name)
		}
	}
	if stack := x.At(filepath.Join(dir, "stack")); len(stack) != 3 || x.Visible(stack[1].ID) || !x.Visible(stack[2].ID) {
		t.Errorf("stack of %+v; want 3 of which the last is visible", stack)
	}
	slave, _ := x.Covering(filepath.Join(dir, "slave"))
	shared, _ := x.Covering(filepath.Join(dir, "bind"))
	if shared.Shared == 0 || slave.Master != shared.Shared || slave.Root != "/in" {
		t.Errorf("slave %+v of %+v; want its peer group as master and root /in", slave, shared)
	}
}

func makeShapes(dir string) error {
	at := func(rel string) string { return filepath.Join(dir, rel) }
	tmpfs := func(rel string) error { return unix.Mount("none", at(rel), "tmpfs", 0, "") }
	var errs []error
	do := func(err error) { errs = append(errs, err) }
	for _, rel := range []string{"plain/sub", "stack", "covered/below", "bind", "slave", "odd \t\n\\#\xff"} {
		do(os.MkdirAll(at(rel), 0o755))
	}
	do(os.WriteFile(at("file"), nil, 0o600))
	do(tmpfs("stack"))
	do(tmpfs("stack"))
	do(tmpfs("stack"))
	do(os.Mkdir(at("stack/x"), 0o755))
	do(tmpfs("covered/below"))
	do(tmpfs("covered"))
	do(os.MkdirAll(at("covered/below/x"), 0o755))
	do(tmpfs("bind"))
	do(unix.Mount("", at("bind"), "", unix.MS_SHARED, ""))
	do(os.MkdirAll(at("bind/in/x"), 0o755))
	do(tmpfs("bind/in/x"))
	do(unix.Mount(at("bind/in"), at("slave"), "", unix.MS_BIND, ""))
	do(unix.Mount("", at("slave"), "", unix.MS_SLAVE, ""))
	do(os.MkdirAll(at("slave/x"), 0o755))
	do(unix.Mount(at("file"), at("file"), "", unix.MS_BIND, ""))
	do(tmpfs("odd \t\n\\#\xff"))
	return errors.Join(errs...)
}

// mountOf asks the kernel.
func mountOf(t *testing.T, name string) int {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer func() { _ = unix.Close(fd) }()
	id, ok := mountIDOf(fd)
	if !ok {
		t.Errorf("kernel does not tell the mount of %q", name)
	}
	return id
}

func TestReadChroot(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := newGuest(t, func() error {
		return errors.Join(newNamespace(), os.MkdirAll(dir+"/jail/a", 0o755), unix.Mount("none", dir+"/jail/a", "tmpfs", 0, ""),
			unix.Chroot(dir+"/jail"))
	})
	got, err := Read(t.Context(), openFS(t, "/"), g.tid)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Mounts) != 1 || got.Mounts[0].MountPoint != "/a" || got.Root != dir+"/jail" {
		t.Errorf("root %q, mounts %+v; want %s/jail and one mount on /a", got.Root, got.Mounts, dir)
	}
	if _, ok := got.Index().Covering("/"); ok {
		t.Error("the root of the chroot is no mount point, yet lies on a mount")
	}
}

// procTree makes a /proc tree with one process and returns the file system that it is in.
func procTree(t *testing.T, pid int, mountinfo string) *hostfs.FS {
	t.Helper()
	root := t.TempDir()
	dir := fmt.Sprintf("%s/proc/%d", root, pid)
	if err := errors.Join(
		os.MkdirAll(dir+"/ns", 0o755),
		os.Symlink(fmt.Sprint(pid), root+"/proc/self"),
		os.Symlink(fmt.Sprintf("mnt:[%d]", pid+1000), dir+"/ns/mnt"),
		os.Symlink("/", dir+"/root"),
		os.WriteFile(dir+"/mountinfo", []byte(mountinfo), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	return openFS(t, root)
}

const mountLine = "36 35 98:0 /mnt1 /mnt2 rw - ext3 /dev/root rw\n"

func TestReadTree(t *testing.T) {
	got, err := Read(t.Context(), procTree(t, 7, mountLine+"bad\n"), 0)
	want := mounts.Table{Namespace: 1007, PID: 7, Root: "/", Mounts: []mounts.Mount{{
		ID: 36, ParentID: 35, Device: "98:0", Root: "/mnt1", MountPoint: "/mnt2", Options: "rw",
		FSType: "ext3", Class: mounts.ClassBlock, Source: "/dev/root", SuperOptions: "rw",
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err == nil || !strings.Contains(err.Error(), "mount table of process 7: mountinfo line 2: too few fields") {
		t.Errorf("error = %v; want one for line 2", err)
	}
}

func TestReadNothing(t *testing.T) {
	got, err := Read(t.Context(), procTree(t, 7, ""), 8)
	if !errors.Is(err, fs.ErrNotExist) || got.PID != 8 || got.Mounts == nil {
		t.Errorf("%+v, %v; want no mounts and fs.ErrNotExist", got, err)
	}
	if _, err := Read(t.Context(), openFS(t, t.TempDir()), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without /proc: %v; want fs.ErrNotExist", err)
	}
}

func TestReadTooLong(t *testing.T) {
	proc, err := procTree(t, 7, mountLine+mountLine+mountLine).OpenDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = proc.Close() }()
	for limit, want := range map[int]int{
		3 * len(mountLine): 3, 3*len(mountLine) - 1: 2, 2*len(mountLine) + 1: 2, 2 * len(mountLine): 2, 1: 0,
	} {
		r := tableReader{proc: proc, limit: int64(limit), parser: &mounts.Parser{}}
		got, err := r.read(t.Context(), 7)
		if errors.Is(err, nodefs.ErrTruncated) != (want < 3) || want == 3 && err != nil {
			t.Errorf("%d bytes: error = %v; want nodefs.ErrTruncated if something is missing", limit, err)
		}
		if len(got.Mounts) != want || got.Namespace == 0 {
			t.Errorf("%d bytes: %+v; want the %d whole lines", limit, got, want)
		}
	}
}

// TestReadForeign reads more mounts than are kept of another namespace, and all of them of the program's own.
func TestReadForeign(t *testing.T) {
	const lines = 20_000
	var text strings.Builder
	for i := range lines {
		fmt.Fprintf(&text, "%d 1 0:7 / /%s/%d rw - tmpfs none rw\n", i+2, strings.Repeat("x", 500), i)
	}
	proc, err := procTree(t, 7, text.String()).OpenDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = proc.Close() }()
	r := tableReader{proc: proc, limit: maxTable, foreign: maxForeign, parser: &mounts.Parser{}}
	got, err := r.read(t.Context(), 7)
	if n := len(got.Mounts); !errors.Is(err, nodefs.ErrTruncated) || n < 1000 || n > maxForeign/500 || got.Mounts[n-1].ID != n+1 {
		t.Errorf("%d mounts, %v; want the first ones, and nodefs.ErrTruncated", n, err)
	}
	r.own = got.Namespace
	if got, err := r.read(t.Context(), 7); err != nil || len(got.Mounts) != lines {
		t.Errorf("%d mounts of the program's own namespace, %v; want all", len(got.Mounts), err)
	}
}

func TestStable(t *testing.T) {
	gone := errors.New("gone")
	for name, tc := range map[string]struct {
		texts []string // of the readings; "" fails
		ctx   context.Context
		want  string
		errs  []error
	}{
		"at once":                 {[]string{"a", "a"}, t.Context(), "a", nil},
		"at the third reading":    {[]string{"a", "b", "b"}, t.Context(), "b", nil},
		"back and forth":          {[]string{"a", "b", "a", "a"}, t.Context(), "a", nil},
		"never":                   {[]string{"a", "b", "c", "d", "e", "f", "g", "h"}, t.Context(), "h", []error{errUnstable}},
		"process ends":            {[]string{""}, t.Context(), "", []error{gone}},
		"process ends in between": {[]string{"a", ""}, t.Context(), "a", []error{gone, errUnstable}},
		"out of time":             {[]string{"a"}, cancelled(t), "a", []error{context.Canceled, errUnstable}},
	} {
		t.Run(name, func(t *testing.T) {
			readings := 0
			got, err := stable(tc.ctx, func() (reading, error) {
				if readings >= len(tc.texts) {
					t.Fatalf("reading %d", readings)
				}
				text := tc.texts[readings]
				if readings++; text == "" {
					return reading{}, gone
				}
				return reading{root: text, sum: uint64(text[0])}, nil
			})
			if got.root != tc.want || readings != len(tc.texts) {
				t.Errorf("%q after %d readings; want %q after %d", got.root, readings, tc.want, len(tc.texts))
			}
			for _, want := range tc.errs {
				if !errors.Is(err, want) {
					t.Errorf("error = %v; want %v", err, want)
				}
			}
			if (err != nil) != (len(tc.errs) > 0) {
				t.Errorf("error = %v; want %v", err, tc.errs)
			}
		})
	}
	base := reading{namespace: 1, root: "/", sum: 1}
	for _, other := range []reading{{namespace: 2, root: "/", sum: 1}, {namespace: 1, root: "/x", sum: 1}, {namespace: 1, root: "/", sum: 2}} {
		if base.equal(other) {
			t.Errorf("%+v equals %+v", base, other)
		}
	}
}

// TestReadWhileMounting reads a namespace in which mounts come and go, and wants those that stay in every reading.
func TestReadWhileMounting(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	g := newGuest(t, func() error {
		var errs []error
		for _, sub := range []string{"stays", "goes"} {
			errs = append(errs, os.Mkdir(filepath.Join(dir, sub), 0o755))
		}
		return errors.Join(append(errs, newNamespace(), unix.Mount("none", dir+"/stays", "tmpfs", 0, ""))...)
	})
	go func() {
		defer close(stopped)
		g.run(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = unix.Mount("none", dir+"/goes", "tmpfs", 0, "")
					_ = unix.Unmount(dir+"/goes", 0)
				}
			}
		})
	}()
	fsys := openFS(t, "/")
	for range 50 {
		got, err := Read(t.Context(), fsys, g.tid)
		if err != nil && !errors.Is(err, errUnstable) {
			t.Fatal(err)
		}
		if len(got.Index().At(dir+"/stays")) != 1 {
			t.Errorf("the mount that stays is missing, error %v", err)
		}
	}
	close(stop)
	<-stopped
}

func BenchmarkRead(b *testing.B) {
	fsys := openFS(b, "/")
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Read(b.Context(), fsys, 0); err != nil {
			b.Fatal(err)
		}
	}
}
