package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestHoldersOfEndingProcesses reads while processes come and go: they are no trouble.
func TestHoldersOfEndingProcesses(t *testing.T) {
	fsys, opt := machine(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_ = exec.Command("true").Run()
			}
		}
	}()
	for range 5 {
		result, err := Holders(t.Context(), fsys, HoldersOptions{Group: opt.Group})
		if err != nil {
			t.Error(err)
		}
		for _, problem := range result.Problems {
			if !errors.Is(problem, fs.ErrPermission) { // the first process of a sandbox may not be looked at
				t.Error(problem)
			}
		}
		for _, h := range result.Holders {
			if h.Detached && strings.HasPrefix(h.Path, "/usr") {
				t.Errorf("%+v is said to be detached", h)
			}
		}
	}
	close(stop)
	<-done
}

func TestHoldersWithoutProc(t *testing.T) {
	fsys, err := hostfs.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	if result, err := Holders(t.Context(), fsys, HoldersOptions{}); err == nil || result.Holders == nil {
		t.Errorf("%+v, %v; want an error, and lists that are not nil", result, err)
	}
}

// TestHoldersKilled kills a process of which a thread cannot die: it still holds all that it had.
func TestHoldersKilled(t *testing.T) {
	fsys, opt := machine(t)
	dir, m := tmpfs(t)
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	c := start(t, job{CPU: -1, Call: "stat", Path: server.MountPoint(), Second: true, Dir: dir, Open: dir})
	server.Hang()
	c.call(t)
	testfuse.Await(t, "the server to take the request", func() bool { return server.Unanswered() > 0 })
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	testfuse.Await(t, "a zombie", func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid()))
		return err == nil && strings.Contains(string(text), ") Z ")
	})
	result, err := Holders(t.Context(), fsys, HoldersOptions{Group: opt.Group, Keep: func(h *holders.Holder) bool { return h.PID == c.pid() && h.MountID == m.ID }})
	if err != nil {
		t.Fatal(err)
	}
	kinds := []holders.Kind{}
	for _, h := range result.Holders {
		kinds = append(kinds, h.Kind)
	}
	if diff := cmp.Diff([]holders.Kind{holders.HoldCwd, holders.HoldFD}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// TestHoldersOfEndedNamespace has a process that was read and ended with its mount namespace before its table was: of
// mounts that are in no table now it cannot be said that they are detached.
func TestHoldersOfEndedNamespace(t *testing.T) {
	fsys, _ := machine(t)
	c, err := newCollector(t.Context(), fsys, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.proc.Close() }()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	at, own := &named{path: "/usr/lib/libc.so.6"}, newPlainPaths(t.Context(), fsys, nil)
	r := resolver{ctx: t.Context(), fsys: fsys, c: c, problems: &problems{}, own: own.namespace, before: own, found: []*holdings{{
		pid: ended.Process.Pid, ns: 1, holds: []hold{{at: at, kind: atMap, fd: -1, device: "4095:1"}, {at: at, kind: atFD, fd: 3, mount: 1 << 30}},
	}}}
	r.resolve(map[uint64][]int{1: {ended.Process.Pid}, own.namespace: {os.Getpid()}})
	for _, h := range r.kept() {
		if h.Detached {
			t.Errorf("%+v is said to be detached", h)
		}
	}
}
