package hostfs

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// crosses asks a Dir everything that there is to ask about a mount point beneath it.
func crosses(t *testing.T, d *Dir, point string) {
	t.Helper()
	_, err := d.Lstat(point)
	wantErr(t, "Lstat of "+point, err, nodefs.ErrCrossesMount)
	_, err = d.OpenDir(point)
	wantErr(t, "OpenDir of "+point, err, nodefs.ErrCrossesMount)
	_, err = d.ReadLink(point)
	wantErr(t, "ReadLink of "+point, err, nodefs.ErrCrossesMount)
	_, err = d.ReadFile(point, 10)
	wantErr(t, "ReadFile of "+point, err, nodefs.ErrCrossesMount)
	for _, beneath := range []string{"/file", "/dir/file", "/."} {
		_, err = d.ReadFile(point+beneath, 10)
		wantErr(t, "ReadFile beneath "+point, err, nodefs.ErrCrossesMount)
	}
}

func TestMountPoint(t *testing.T) {
	noDescriptorsLost(t)
	root := tree(t, map[string]string{"pods/uid/volumes/vol name/": "", "pods/uid/file": "x", "pods/uid/bind": "y"})
	mount(t, "tmpfs", root+"/pods/uid/volumes/vol name", "tmpfs", 0)
	must(t, os.WriteFile(root+"/pods/uid/volumes/vol name/file", []byte("inside"), 0o644))
	mount(t, root+"/pods/uid/file", root+"/pods/uid/bind", "", unix.MS_BIND) // same device number; a subPath volume
	both(t, func(t *testing.T, weak bool) {
		d := openDir(t, root, weak)
		crosses(t, d, "pods/uid/volumes/vol name")
		volumes, err := d.OpenDir("pods/uid/volumes")
		must(t, err)
		defer volumes.Close()
		crosses(t, volumes, "vol name")
		entries, err := volumes.Entries(10)
		if err != nil || len(entries) != 1 || !entries[0].TypeKnown {
			t.Errorf("entries %v, %v", entries, err)
		}
		_, err = d.ReadFile("pods/uid/bind", 10)
		wantErr(t, "bound file", err, nodefs.ErrCrossesMount)
		if data, err := d.ReadFile("pods/uid/file", 10); err != nil || string(data) != "x" {
			t.Errorf("%q, %v", data, err)
		}
		f := openFS(t, root, weak)
		if data, err := f.ReadFile("/pods/uid/volumes/vol name/file", 10); err != nil || string(data) != "inside" {
			t.Errorf("FS: %q, %v", data, err)
		}
		inside, err := f.OpenDir("/pods/uid/volumes/vol name") // a mount point is a good place to start from
		must(t, err)
		defer inside.Close()
		if data, err := inside.ReadFile("file", 10); err != nil || string(data) != "inside" {
			t.Errorf("from the mount's root: %q, %v", data, err)
		}
		if info, err := inside.Lstat("."); err != nil || !info.Mode.IsDir() {
			t.Errorf("the mount's root: %v, %v", info, err)
		}
	})
}

// A mount may be younger than the Dir.
func TestYoungMountPoint(t *testing.T) {
	root := tree(t, map[string]string{"vol/": "", "bind/": "", "src/file": "x"})
	both(t, func(t *testing.T, weak bool) {
		d := openDir(t, root, weak)
		mount(t, "tmpfs", root+"/vol", "tmpfs", 0)
		mount(t, root+"/src", root+"/bind", "", unix.MS_BIND)
		crosses(t, d, "vol")
		crosses(t, d, "bind")
	})
}

// Where there is no procfs, and for the moment between a look at the mount table and a mount, the ids have to do.
func TestMountPointThatNoTableShows(t *testing.T) {
	root := tree(t, map[string]string{"vol/": "", "bind/": "", "src/file": "x"})
	mount(t, "tmpfs", root+"/vol", "tmpfs", 0)
	mount(t, root+"/src", root+"/bind", "", unix.MS_BIND)
	both(t, func(t *testing.T, weak bool) {
		d := openDir(t, root, weak)
		d.table = &mountTable{last: &mountPoints{}}
		crosses(t, d, "vol")
		crosses(t, d, "bind")
	})
}

func TestMountAboveTheDirDoesNotMatter(t *testing.T) {
	root := tree(t, map[string]string{"kubelet/pods/file": "x"})
	mount(t, root+"/kubelet", root+"/kubelet", "", unix.MS_BIND)
	both(t, func(t *testing.T, weak bool) {
		d, err := openFS(t, root, weak).OpenDir("/kubelet/pods")
		must(t, err)
		defer d.Close()
		if data, err := d.ReadFile("file", 10); err != nil || string(data) != "x" {
			t.Errorf("%q, %v", data, err)
		}
	})
}

func TestHungMount(t *testing.T) {
	root := tree(t, map[string]string{"pods/uid/vol/": "", "pods/uid/file": "x", "link": "-> pods/uid/vol"})
	fuse := testfuse.Mount(t, root+"/pods/uid/vol", testfuse.Options{Files: map[string]string{"dir/file": "x", "file": "x"}})
	both(t, func(t *testing.T, weak bool) {
		f := openFS(t, root, weak)
		d := openDir(t, root, weak)
		fuse.Hang()
		defer fuse.Heal()
		answers(t, fuse, func() {
			crosses(t, d, "pods/uid/vol")
			uid, err := d.OpenDir("pods/uid")
			if err != nil {
				t.Error(err)
				return
			}
			defer uid.Close()
			crosses(t, uid, "vol")
			if entries, err := uid.Entries(10); err != nil || len(entries) != 2 {
				t.Errorf("entries %v, %v", entries, err)
			}
			if data, err := uid.ReadFile("file", 10); err != nil || string(data) != "x" {
				t.Errorf("%q, %v", data, err)
			}
		})
		if fuse.Unanswered() != 0 {
			t.Errorf("the server was asked %d times", fuse.Unanswered())
		}
		answers(t, fuse, func() { // also the dead mount itself can be named and opened, only not asked
			if got, err := f.Resolve("/link"); err != nil || got != "/pods/uid/vol" {
				t.Errorf("%q, %v", got, err)
			}
			dead, err := f.OpenDir("/link")
			if err != nil {
				t.Error(err)
				return
			}
			_ = dead.Close()
		})
	})
}

// What a file system without types in its directories leaves open is asked for, but not at mount points.
func TestUnknownTypes(t *testing.T) {
	root := tree(t, map[string]string{"dir/": "", "file": "x", "link": "-> vol", "vol/": ""})
	special(t, root)
	fuse := testfuse.Mount(t, root+"/vol", testfuse.Options{})
	both(t, func(t *testing.T, weak bool) {
		d := openDir(t, root, weak)
		fuse.Hang()
		defer fuse.Heal()
		got := []nodefs.Entry{}
		for _, name := range []string{"dir", "file", "link", "fifo", "vol", "gone"} {
			got = append(got, newEntry(name, unix.DT_UNKNOWN))
		}
		answers(t, fuse, func() { d.askForTypes(got) })
		want := []nodefs.Entry{
			{Name: "dir", Type: fs.ModeDir, TypeKnown: true},
			{Name: "file", TypeKnown: true},
			{Name: "link", Type: fs.ModeSymlink, TypeKnown: true},
			{Name: "fifo", Type: fs.ModeNamedPipe, TypeKnown: true},
			{Name: "vol"},
			{Name: "gone"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// A call that was given up keeps its directory open.
func TestCloseWhileACallHangs(t *testing.T) {
	noDescriptorsLost(t)
	root := t.TempDir()
	fuse := testfuse.Mount(t, root+"/vol", testfuse.Options{Files: map[string]string{"file": "x"}})
	f := openFS(t, root, false)
	d, err := f.OpenDir("/vol")
	must(t, err)
	fuse.Hang()
	result := make(chan error)
	go func() {
		_, err := d.Entries(10)
		result <- err
	}()
	testfuse.Await(t, "the call to reach the server", func() bool { return fuse.Unanswered() > 0 })
	must(t, d.Close())
	_, err = d.OpenDir(".")
	wantErr(t, "another call", err, fs.ErrClosed)
	var x unix.Statx_t
	if err := statx(d.fd.fd, unix.STATX_TYPE, &x); err != nil {
		t.Errorf("its descriptor is gone: %v", err)
	}
	fuse.Heal()
	if err := <-result; err != nil {
		t.Error(err)
	}
	if n := d.fd.users.Load(); n != 0 {
		t.Errorf("%d users after the last call", n)
	}
}

func TestMountOfAgreesWithMountinfo(t *testing.T) {
	root := t.TempDir()
	mount(t, "tmpfs", root, "tmpfs", 0)
	fd, err := unix.Open(root, pathFlags, 0)
	must(t, err)
	defer unix.Close(fd)
	table, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	var want uint64
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); fields[4] == root {
			want, err = strconv.ParseUint(fields[0], 10, 64)
			must(t, err)
		}
	}
	if got, ok := mountFromFdinfo(fd); !ok || got != want {
		t.Errorf("fdinfo says %d, %v; want %d", got, ok, want)
	}
	if got := mountOf(fd); got.way == 'd' || got.id != want {
		t.Errorf("%c %d, want %d", got.way, got.id, want)
	}
}
