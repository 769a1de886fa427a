package hostfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// special makes a FIFO, a socket and, as root, devices.
func special(t testing.TB, dir string) {
	t.Helper()
	must(t, unix.Mkfifo(dir+"/fifo", 0o644))
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0) // the way to a path that is longer than a socket's may be
	must(t, err)
	defer unix.Close(fd)
	socket, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/socket", fd))
	must(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	if os.Geteuid() == 0 {
		must(t, unix.Mknod(dir+"/device", unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))))
		must(t, unix.Mknod(dir+"/block", unix.S_IFBLK|0o644, int(unix.Mkdev(259, 77))))
	}
}

// A FIFO that is opened for reading lets a waiting writer go on, so a writer that may not wait shows whether one was.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	noDescriptorsLost(t)
	root := tree(t, map[string]string{"dir/": "", "pipe": "-> fifo"})
	special(t, root)
	both(t, func(t *testing.T, weak bool) {
		f := openFS(t, root, weak)
		d := openDir(t, root, weak)
		for _, name := range []string{"fifo", "socket", "device", "block", "dir"} {
			if _, err := os.Lstat(root + "/" + name); err != nil {
				continue
			}
			_, err := f.ReadFile("/"+name, 10)
			wantErr(t, "FS.ReadFile of "+name, err, nodefs.ErrNotRegular)
			_, err = f.OpenFile("/" + name)
			wantErr(t, "FS.OpenFile of "+name, err, nodefs.ErrNotRegular)
			_, err = d.ReadFile(name, 10)
			wantErr(t, "Dir.ReadFile of "+name, err, nodefs.ErrNotRegular)
			if name != "dir" {
				_, err = d.OpenDir(name)
				wantErr(t, "Dir.OpenDir of "+name, err, unix.ENOTDIR)
				_, err = f.OpenDir(name)
				wantErr(t, "FS.OpenDir of "+name, err, unix.ENOTDIR)
			}
		}
		_, err := f.ReadFile("/pipe", 10)
		wantErr(t, "link to a FIFO", err, nodefs.ErrNotRegular)
		_, err = d.ReadFile("pipe", 10)
		wantErr(t, "link to a FIFO", err, nodefs.ErrSymlink)
	})
}

func TestReadFile(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 100_000)
	root := tree(t, map[string]string{"file": "12345", "empty": "", "big": big})
	must(t, os.Truncate(root+"/empty", 0))
	f, err := os.Create(root + "/sparse")
	must(t, err)
	must(t, f.Truncate(1<<40))
	must(t, f.Close())
	both(t, func(t *testing.T, weak bool) {
		h := openFS(t, root, weak)
		d := openDir(t, root, weak)
		for _, c := range []struct {
			name  string
			limit int64
			want  string
			err   error
		}{
			{name: "file", limit: 6, want: "12345"},
			{name: "file", limit: 5, want: "12345"},
			{name: "file", limit: 4, want: "1234", err: nodefs.ErrTruncated},
			{name: "file", limit: 0, want: "", err: nodefs.ErrTruncated},
			{name: "file", limit: -1, want: "", err: nodefs.ErrTruncated},
			{name: "file", limit: math.MaxInt64, want: "12345"},
			{name: "empty", limit: 0, want: ""},
			{name: "empty", limit: 10, want: ""},
			{name: "big", limit: int64(len(big)), want: big},
			{name: "big", limit: int64(len(big)) - 1, want: big[:len(big)-1], err: nodefs.ErrTruncated},
			{name: "sparse", limit: 10_000, want: strings.Repeat("\x00", 10_000), err: nodefs.ErrTruncated},
		} {
			read := func(what string, data []byte, err error) {
				t.Helper()
				if !errors.Is(err, c.err) || string(data) != c.want {
					t.Errorf("%s of %s to %d: %d bytes, %v; want %d, %v", what, c.name, c.limit, len(data), err, len(c.want), c.err)
				}
			}
			data, err := h.ReadFile(c.name, c.limit)
			read("FS.ReadFile", data, err)
			data, err = d.ReadFile(c.name, c.limit)
			read("Dir.ReadFile", data, err)
			data, err = d.Append([]byte("head"), c.name, c.limit)
			data, ok := bytes.CutPrefix(data, []byte("head"))
			if read("Dir.Append", data, err); !ok {
				t.Error("Append lost what was in the buffer")
			}
		}
	})
}

func TestAppendUsesTheBuffer(t *testing.T) {
	d := openDir(t, tree(t, map[string]string{"a": "aaaa", "b": "bb"}), false)
	buf := make([]byte, 0, 64)
	first := &buf[:1][0]
	for _, name := range []string{"a", "b", "missing", "a"} {
		var err error
		buf, err = d.Append(buf, name, 100)
		if (err != nil) != (name == "missing") {
			t.Error(err)
		}
	}
	if string(buf) != "aaaabbaaaa" || &buf[0] != first {
		t.Errorf("%q, in another buffer: %v", buf, &buf[0] != first)
	}
}

// The files of procfs say that their size is 0.
func TestProcfsIsReadToItsEnd(t *testing.T) {
	both(t, func(t *testing.T, weak bool) {
		f := openFS(t, "/", weak)
		proc, err := f.OpenDir("/proc")
		must(t, err)
		defer proc.Close()
		self, err := proc.ReadLink("self")
		must(t, err)
		want, err := os.ReadFile("/proc/self/mountinfo")
		must(t, err)
		got, err := proc.ReadFile(self+"/mountinfo", 1<<20)
		must(t, err)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Error(diff)
		}
		got, err = f.ReadFile("/proc/self/mountinfo", 1<<20)
		must(t, err)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Error(diff)
		}
		_, err = proc.ReadFile(self, 10)
		wantErr(t, "a directory", err, nodefs.ErrNotRegular)
		_, err = proc.ReadFile("sys", 10)
		wantErr(t, "a directory", err, nodefs.ErrNotRegular)
		_, err = proc.ReadFile("999999999/stat", 10)
		wantErr(t, "no process", err, unix.ENOENT)
		if data, err := proc.ReadFile("sys/kernel/ostype", 10); err != nil || string(data) != "Linux\n" {
			t.Errorf("%q, %v", data, err)
		}
	})
}

func TestFile(t *testing.T) {
	content := strings.Repeat("0123456789", 10_000)
	root := tree(t, map[string]string{"log": content, "current": "-> /log"})
	f, err := openFS(t, root, false).OpenFile("/current")
	must(t, err)
	defer f.Close()
	st, err := os.Stat(root + "/log")
	must(t, err)
	if f.Size() != st.Size() || !f.ModTime().Equal(st.ModTime()) {
		t.Errorf("size %d, modified %v", f.Size(), f.ModTime())
	}
	must(t, iotest.TestReader(io.NewSectionReader(f, 0, f.Size()), []byte(content)))
	got, err := io.ReadAll(f)
	if err != nil || string(got) != content {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if n, err := f.ReadAt(make([]byte, 10), f.Size()-4); n != 4 || !errors.Is(err, io.EOF) {
		t.Errorf("over the end: %d, %v", n, err)
	}
	if n, err := f.ReadAt(nil, 0); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	_, err = f.ReadAt(make([]byte, 1), -1)
	wantErr(t, "negative offset", err, unix.EINVAL)
}
