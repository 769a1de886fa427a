package testfuse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestHold(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"dir/": "", "file": "content"}})
	link := func(name string) func(pid int) string {
		return func(pid int) string {
			target, _ := os.Readlink(fmt.Sprintf("/proc/%d/%s", pid, name))
			return target
		}
	}
	anyFD := func(pid int) string {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		var targets strings.Builder
		for _, fd := range fds {
			target, _ := os.Readlink(fd)
			targets.WriteString(target + "\n")
		}
		return targets.String()
	}
	maps := func(pid int) string {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		return string(text)
	}
	tests := []struct {
		name string
		kind testfuse.Kind
		path string
		seen func(pid int) string
	}{
		{"working directory", testfuse.Cwd, "dir", link("cwd")},
		{"root directory", testfuse.Root, "dir", link("root")},
		{"descriptor of a file", testfuse.FD, "file", anyFD},
		{"descriptor of a directory", testfuse.FD, "dir", anyFD},
		{"descriptor of a new file", testfuse.FD, "new", anyFD},
		{"mapping", testfuse.Mmap, "file", maps},
		{"mapping of a new file", testfuse.Mmap, "newer", maps},
		{"executable", testfuse.Exe, "binary", link("exe")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(s.MountPoint(), tt.path)
			p := testfuse.Hold(t, tt.kind, path)
			if seen := tt.seen(p.PID()); !strings.Contains(seen, path) {
				t.Errorf("process %d shows %q, want %s", p.PID(), seen, path)
			}
		})
	}
}

func TestMappingHasNoDescriptor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	p := testfuse.Hold(t, testfuse.Mmap, path)
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", p.PID(), fd.Name())); target == path {
			t.Errorf("descriptor %s is open", fd.Name())
		}
	}
}

// fakeT records a failure instead of failing.
type fakeT struct {
	testing.TB
	failure string
}

func (f *fakeT) Helper()             {}
func (f *fakeT) Cleanup(func())      {}
func (f *fakeT) Name() string        { return "fake" }
func (f *fakeT) Logf(string, ...any) {}
func (f *fakeT) Fatalf(format string, args ...any) {
	f.failure = fmt.Sprintf(format, args...)
	panic(f)
}

// failure returns what do failed with.
func failure(t *testing.T, do func(testing.TB)) string {
	t.Helper()
	fake := &fakeT{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(fake) {
				panic(r)
			}
		}()
		do(fake)
	}()
	return fake.failure
}

func TestHoldSaysWhyItCannot(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name string
		kind testfuse.Kind
		path string
		want string
	}{
		{"no such directory", testfuse.Cwd, filepath.Join(dir, "none"), "no such file or directory"},
		{"unknown kind", testfuse.Kind("grip"), dir, `no such kind: "grip"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := failure(t, func(tb testing.TB) { testfuse.Hold(tb, tt.kind, tt.path) })
			if !strings.Contains(got, tt.want) {
				t.Errorf("failed with %q, want %q in it", got, tt.want)
			}
		})
	}
}
