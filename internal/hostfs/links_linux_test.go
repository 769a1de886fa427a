package hostfs

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// linksOf collects what a LinkReader tells: the text of each link, "!" and the error of what is none.
func linksOf(t *testing.T, f *FS, dir, rel string, limit int) (map[string]string, error) {
	t.Helper()
	d, err := f.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	got := map[string]string{}
	var r LinkReader
	err = r.Each(d, rel, limit, func(name, text []byte, err error) {
		got[string(name)] = string(text)
		if err != nil {
			got[string(name)] = "!" + errors.Unwrap(err).Error()
		}
	})
	return got, err
}

func TestLinkReader(t *testing.T) {
	long := "/" + strings.Repeat("x/", 2000)
	both(t, func(t *testing.T, weak bool) {
		root := t.TempDir()
		for name, target := range map[string]string{"a": "/etc/passwd", "b\n": "x\x1b\xff", "long": long} {
			if err := os.MkdirAll(filepath.Join(root, "dir/links"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, filepath.Join(root, "dir/links", name)); err != nil {
				t.Fatal(err)
			}
		}
		f, err := open(root, weak)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		got, err := linksOf(t, f, "/dir", "links", 10)
		if err != nil || len(got) != 3 || got["a"] != "/etc/passwd" || got["b\n"] != "x\x1b\xff" || got["long"] != long {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := linksOf(t, f, "/dir", "links", 2); len(got) != 2 || !errors.Is(err, nodefs.ErrTruncated) {
			t.Errorf("with a limit of 2: %d links, %v", len(got), err)
		}
		if _, err := linksOf(t, f, "/dir", "none", 2); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a directory that is not there: %v", err)
		}
	})
}

// TestLinkReaderGaps has descriptors with gaps between them: each is found once, wherever the first gap is and however long.
func TestLinkReaderGaps(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, before := range []int{0, 1, 20, 200} {
		for _, gap := range []int{1, 2, 9, 70} {
			var files []*os.File // from descriptor 3 on
			for range before {
				files = append(files, file)
			}
			for range 3 {
				files = append(append(files, make([]*os.File, gap)...), file)
			}
			cmd := exec.Command("sleep", "1000")
			cmd.ExtraFiles = files
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var want []string
			for i, file := range files {
				if file != nil {
					want = append(want, strconv.Itoa(i+3))
				}
			}
			if got := descriptorsOf(t, cmd.Process.Pid, file.Name()); !slices.Equal(got, want) {
				t.Errorf("%d before gaps of %d: descriptors %v, want %v", before, gap, got, want)
			}
			_, _ = cmd.Process.Kill(), cmd.Wait()
		}
	}
}

// TestLinkReaderManyBehindAGap has so many descriptors behind a gap that the kernel lists them in several parts: the holder of a dead mount
// may be in the last one.
func TestLinkReaderManyBehindAGap(t *testing.T) {
	const many, gap = 3000, 50 // 24 bytes each in the 32 KiB of one part; more than the reader opens itself
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var all []int
	defer func() {
		for _, fd := range all {
			_ = unix.Close(fd)
		}
	}()
	for range gap + many {
		fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Skip("too few descriptors: ", err)
		}
		all = append(all, fd)
	}
	for _, fd := range all[:gap] {
		_ = unix.Close(fd)
	}
	all = all[gap:]
	if got := descriptorsOf(t, os.Getpid(), file.Name()); len(got) != many+1 {
		t.Errorf("%d descriptors, want %d", len(got), many+1)
	}
}

// descriptorsOf lists those that a process has of one file.
func descriptorsOf(t *testing.T, pid int, file string) []string {
	t.Helper()
	f, err := Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	d, err := f.OpenDir("/proc/" + strconv.Itoa(pid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	var names []string
	var r LinkReader
	err = r.Each(d, "fd", 1<<20, func(name, text []byte, _ error) {
		if string(text) == file {
			names = append(names, string(name))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestLinkReaderInProc has a descriptor of a file whose name is as long as names can be.
func TestLinkReaderInProc(t *testing.T) {
	both(t, func(t *testing.T, weak bool) {
		name := filepath.Join(t.TempDir(), strings.Repeat("n", 255))
		file, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		f, err := open("/", weak)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		dir, fd := "/proc/"+strconv.Itoa(os.Getpid()), strconv.Itoa(int(file.Fd()))
		got, err := linksOf(t, f, dir, "fd", 1<<20)
		if err != nil || got[fd] != name {
			t.Errorf("descriptor %s: %q, %v; want %q", fd, got[fd], err, name)
		}
		if got, err := linksOf(t, f, dir, "fd", 2); len(got) != 2 || !errors.Is(err, nodefs.ErrTruncated) {
			t.Errorf("with a limit of 2: %d links, %v", len(got), err)
		}
		if _, err := linksOf(t, f, "/proc", "self", 2); !errors.Is(err, nodefs.ErrSymlink) && !errors.Is(err, unix.ENOTDIR) {
			t.Errorf("through a link: %v", err)
		}
		d, err := f.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.Close() }()
		if text, err := d.Head(make([]byte, 0, 4096), "fdinfo/"+fd); err != nil || !strings.HasPrefix(string(text), "pos:\t0\n") {
			t.Errorf("head %q, %v", text, err)
		}
		if _, err := d.OpenDir("cwd"); err == nil {
			t.Error("a magic link was followed")
		}
		if _, err := d.OpenDir("status"); !errors.Is(err, unix.ENOTDIR) {
			t.Errorf("a file as a directory: %v", err)
		}
	})
}
