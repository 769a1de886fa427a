package hostfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestMain(m *testing.M) {
	testfuse.Main()
	os.Exit(m.Run())
}

// both runs a test with openat2 and without.
func both(t *testing.T, test func(t *testing.T, weak bool)) {
	t.Run("openat2", func(t *testing.T) { test(t, false) })
	t.Run("weak", func(t *testing.T) { test(t, true) })
}

func openFS(t testing.TB, root string, weak bool) *FS {
	t.Helper()
	f, err := open(root, weak)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if !weak && f.weak {
		t.Skip("no openat2 here")
	}
	return f
}

func openDir(t testing.TB, root string, weak bool) *Dir {
	t.Helper()
	d, err := openFS(t, root, weak).OpenDir("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// tree makes a directory of files and symbolic links: "name": "content", "name": "-> target", "name/": "".
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		p := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		target, isLink := cutLink(content)
		switch {
		case name[len(name)-1] == '/':
			must(t, os.MkdirAll(p, 0o755))
		case isLink:
			must(t, os.Symlink(target, p))
		default:
			must(t, os.WriteFile(p, []byte(content), 0o644))
		}
	}
	return root
}

func cutLink(s string) (string, bool) {
	if len(s) > 3 && s[:3] == "-> " {
		return s[3:], true
	}
	return "", false
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantErr also checks that the error is a path error, which is promised of all of them.
func wantErr(t testing.TB, what string, err, want error) {
	t.Helper()
	var pathErr *fs.PathError
	if !errors.Is(err, want) || !errors.As(err, &pathErr) {
		t.Errorf("%s: %v (%T), want a path error that is %v", what, err, err, want)
	}
}

// mount mounts something for the test, or skips it.
func mount(t testing.TB, source, target, fstype string, flags uintptr) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	switch err := unix.Mount(source, target, fstype, flags, ""); {
	case errors.Is(err, fs.ErrPermission):
		t.Skipf("mount: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
}

// answers runs something that must not wait for the server. If it does, the server is aborted so that the test ends.
func answers(t *testing.T, fuse *testfuse.Server, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		fuse.Abort()
		<-done
		t.Fatal("waited for the server")
	}
}

// waitOrFail ends a test that waits for what nobody will do.
func waitOrFail(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("still waiting")
	}
}

// noDescriptorsLost fails the test if it ends with more descriptors than it began with.
func noDescriptorsLost(t *testing.T) {
	t.Helper()
	count := func() (n int) {
		names, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		for _, name := range names {
			// Not those that the runtime makes when a test first waits for a socket.
			if target, err := os.Readlink("/proc/self/fd/" + name.Name()); err == nil && !strings.HasPrefix(target, "anon_inode:") {
				n++
			}
		}
		return n
	}
	before := count()
	t.Cleanup(func() {
		if after := count(); after > before {
			t.Errorf("%d descriptors before, %d after", before, after)
		}
	})
}
