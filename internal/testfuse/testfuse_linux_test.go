package testfuse_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	os.Exit(m.Run())
}

// mountLines returns the lines of mountinfo that are about a mount point.
func mountLines(t *testing.T, dir string) []string {
	t.Helper()
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(mountinfo)) {
		if strings.Fields(line)[4] == dir {
			lines = append(lines, line)
		}
	}
	return lines
}

// statResult has a process stat the path and returns what it got. The test itself asks no file system that may hang.
func statResult(t *testing.T, path string) syscall.Errno {
	t.Helper()
	p := testfuse.HoldStat(t, path)
	testfuse.Await(t, "the end of a stat", func() bool { return isDone(p) })
	return p.Errno()
}

func isDone(p *testfuse.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

func TestMountIsShownAsAsked(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{Source: "10.0.0.5:6789:/k8s", Type: "fuse.ceph-fuse"})
	lines := mountLines(t, s.MountPoint())
	if len(lines) != 1 {
		t.Fatalf("mountinfo has %q, want one line", lines)
	}
	fields := strings.Fields(lines[0])
	_, after, _ := strings.Cut(lines[0], " - ")
	got := []string{fields[2], strings.Fields(after)[0], strings.Fields(after)[1]}
	if diff := cmp.Diff([]string{s.Device(), "fuse.ceph-fuse", "10.0.0.5:6789:/k8s"}, got); diff != "" {
		t.Errorf("mount (-want +got):\n%s", diff)
	}
	if want := "0:" + strconv.Itoa(s.Minor()); s.Device() != want {
		t.Errorf("Device() = %q, want %q", s.Device(), want)
	}
}

// A lock is had by one at a time, whoever waits for it gets it when it is free, and all others are answered meanwhile.
func TestLocks(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{Locks: true, Files: map[string]string{"file": ""}})
	open := func() *os.File {
		f, err := os.OpenFile(filepath.Join(s.MountPoint(), "file"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, how := range []struct {
		name                string
		wait, tryNow, letGo func(f *os.File) error
	}{
		{
			"flock",
			func(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX) },
			func(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) },
			(*os.File).Close,
		},
		{
			"fcntl",
			func(f *os.File) error { return fcntlLock(f, unix.F_OFD_SETLKW, unix.F_WRLCK) },
			func(f *os.File) error { return fcntlLock(f, unix.F_OFD_SETLK, unix.F_WRLCK) },
			func(f *os.File) error { return fcntlLock(f, unix.F_OFD_SETLK, unix.F_UNLCK) },
		},
	} {
		t.Run(how.name, func(t *testing.T) {
			first, second := open(), open()
			if err := how.wait(first); err != nil {
				t.Fatal(err)
			}
			if err := how.tryNow(second); !errors.Is(err, unix.EAGAIN) {
				t.Errorf("a second lock: %v, want EAGAIN", err)
			}
			got := make(chan error)
			go func() { got <- how.wait(second) }()
			testfuse.Await(t, "the other to wait", func() bool { return s.Unanswered() == 1 })
			if errno := statResult(t, s.MountPoint()); errno != 0 {
				t.Errorf("stat meanwhile: %v", errno)
			}
			if err := how.letGo(first); err != nil {
				t.Fatal(err)
			}
			if err := <-got; err != nil {
				t.Errorf("the lock that was waited for: %v", err)
			}
			_, _ = first.Close(), second.Close()
		})
	}
}

func fcntlLock(f *os.File, how int, kind int16) error {
	return unix.FcntlFlock(f.Fd(), how, &unix.Flock_t{Type: kind})
}

func TestMountPointWithBlanksAndLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, `a b\c`), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(`a b\c`, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s := testfuse.Mount(t, filepath.Join(dir, "link"), testfuse.Options{})
	if want := filepath.Join(dir, `a b\c`); s.MountPoint() != want {
		t.Errorf("MountPoint() = %q, want %q", s.MountPoint(), want)
	}
}

func TestFilesCanBeListedAndRead(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{
		"etc/hosts":        "127.0.0.1 localhost\n",
		"etc/empty":        "",
		"volumes/pvc/":     "",
		"binary":           "\xff\x00\xfe",
		"big":              strings.Repeat("0123456789abcdef", 64<<10), // many reads of max_pages
		"/absolute//twice": "x",
	}})
	want := map[string]int{
		"etc": -1, "etc/hosts": 20, "etc/empty": 0, "volumes": -1, "volumes/pvc": -1,
		"binary": 3, "big": 1 << 20, "absolute": -1, "absolute/twice": 1,
	}
	got := make(map[string]int)
	root := os.DirFS(s.MountPoint())
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == ".":
		case d.IsDir():
			got[path] = -1
		default:
			content, err := fs.ReadFile(root, path)
			got[path] = len(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	content, err := fs.ReadFile(root, "binary")
	if err != nil || string(content) != "\xff\x00\xfe" {
		t.Errorf("binary = %q, %v", content, err)
	}
}

func TestLargeDirectoryIsListedOnce(t *testing.T) {
	files := make(map[string]string)
	for i := range 1000 {
		files[fmt.Sprintf("file-with-a-rather-long-name-%04d", i)] = ""
	}
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: files})
	list, err := os.ReadDir(s.MountPoint())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		if _, ok := files[entry.Name()]; !ok {
			t.Errorf("%s is listed twice or was not there", entry.Name())
		}
		delete(files, entry.Name())
	}
	if len(files) != 0 {
		t.Errorf("%d files are not listed", len(files))
	}
}

func TestFilesCanBeMadeAndChanged(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"kept": "old"}})
	path := func(name string) string { return filepath.Join(s.MountPoint(), name) }
	steps := []struct {
		name string
		do   func() error
	}{
		{"make a directory", func() error { return os.Mkdir(path("dir"), 0o700) }},
		{"make a file", func() error { return os.WriteFile(path("dir/new"), []byte("content"), 0o600) }},
		{"truncate and write", func() error { return os.WriteFile(path("kept"), []byte("x"), 0o600) }},
		{"rename over a file", func() error { return os.Rename(path("dir/new"), path("kept")) }},
		{"make another", func() error { return os.WriteFile(path("dir/gone"), nil, 0o600) }},
		{"unlink", func() error { return os.Remove(path("dir/gone")) }},
		{"remove the directory", func() error { return os.Remove(path("dir")) }},
		{"chmod", func() error { return os.Chmod(path("kept"), 0o751) }},
		{"truncate", func() error { return os.Truncate(path("kept"), 4) }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
	}
	content, err := os.ReadFile(path("kept"))
	if err != nil || string(content) != "cont" {
		t.Errorf("kept = %q, %v, want %q", content, err, "cont")
	}
	info, err := os.Stat(path("kept"))
	if err != nil || info.Mode() != 0o751 {
		t.Errorf("mode of kept = %v, %v, want 0751", info.Mode(), err)
	}
	if err := os.Mkdir(path("kept"), 0o700); !errors.Is(err, fs.ErrExist) {
		t.Errorf("mkdir over a file: %v, want EEXIST", err)
	}
}

func TestUnlinkedFileStaysReadable(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"log": "content"}})
	path := filepath.Join(s.MountPoint(), "log")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var buf [16]byte
	if n, err := f.Read(buf[:]); err != nil || string(buf[:n]) != "content" {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if n := info.Sys().(*syscall.Stat_t).Nlink; n != 0 {
		t.Errorf("the unlinked file has %d links", n)
	}
}

func TestStatfsHasTheSizeAsked(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{SizeBytes: 1 << 30, FreeBytes: 1 << 20})
	var st unix.Statfs_t
	if err := unix.Statfs(s.MountPoint(), &st); err != nil {
		t.Fatal(err)
	}
	if total, free := st.Blocks*uint64(st.Frsize), st.Bavail*uint64(st.Frsize); total != 1<<30 || free != 1<<20 {
		t.Errorf("statfs: %d of %d bytes free, want %d of %d", free, total, 1<<20, 1<<30)
	}
}

func TestWithoutAllowOtherRootIsRefused(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{NoAllowOther: true, UserID: 12345})
	s.Hang() // the kernel refuses without asking
	if errno := statResult(t, s.MountPoint()); errno != unix.EACCES {
		t.Errorf("stat: %v, want EACCES", errno)
	}
}

func TestEveryStatAsksTheServer(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"dir/file": ""}})
	path := filepath.Join(s.MountPoint(), "dir/file")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	s.Fail(unix.EIO)
	if errno := statResult(t, path); errno != unix.EIO {
		t.Errorf("second stat: %v, want EIO: it was answered from a cache", errno)
	}
}

func TestTwoMountsOnOneDirectory(t *testing.T) {
	dir := t.TempDir()
	lower := testfuse.Mount(t, dir, testfuse.Options{Source: "lower"})
	upper := testfuse.Mount(t, dir, testfuse.Options{Source: "upper"})
	if lower.Minor() == upper.Minor() {
		t.Errorf("both have minor %d", lower.Minor())
	}
	if lines := mountLines(t, lower.MountPoint()); len(lines) != 2 {
		t.Errorf("mountinfo has %q, want two lines", lines)
	}
}

func TestDelayIsALowerBound(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	const delay = 300 * time.Millisecond
	s.Delay(delay)
	start := time.Now()
	if errno := statResult(t, s.MountPoint()); errno != 0 {
		t.Errorf("stat: %v", errno)
	}
	if took := time.Since(start); took < delay {
		t.Errorf("stat took %v, want at least %v", took, delay)
	}
}

func TestFailGivesTheErrno(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	for _, errno := range []syscall.Errno{unix.EIO, unix.ESTALE, 0} {
		s.Fail(errno)
		if got := statResult(t, s.MountPoint()); got != errno {
			t.Errorf("stat: %v, want %v", got, errno)
		}
	}
}
