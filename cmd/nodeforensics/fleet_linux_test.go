package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// What is no regular file is left out of a directory, and refused by its name; a mount that does not respond costs its patience.
func TestFleetOpensNothingThatBlocks(t *testing.T) {
	dir := reportsOf(t, "node-1")
	fifo := filepath.Join(dir, "fifo.json")
	for _, err := range []error{unix.Mkfifo(fifo, 0o600), os.Symlink(".", filepath.Join(dir, "loop")), os.Symlink("/dev/zero", filepath.Join(dir, "zero.json"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s, _ := summaryOf(t, exitDone, dir)
	if len(s.Nodes) != 1 || len(s.NotExamined) != 0 {
		t.Errorf("%+v", s)
	}
	s, o := summaryOf(t, exitFailed, fifo, filepath.Join(dir, "zero.json"), dir)
	if len(s.Nodes) != 1 || !strings.Contains(o.stderr, "is a named pipe") || !strings.Contains(o.stderr, "is a device") {
		t.Errorf("%d nodes\n%s", len(s.Nodes), o.stderr)
	}
}

func TestFleetLeavesADeadMountAlone(t *testing.T) {
	if !onNode(t) {
		return
	}
	dir := reportsOf(t, "node-1")
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"node-2.json": "{}"}})
	server.Hang()
	s, o := summaryOf(t, exitFailed, filepath.Join(server.MountPoint(), "node-2.json"), dir)
	if len(s.Nodes) != 1 || len(s.NotExamined) != 1 || !strings.Contains(o.stderr, "it may be on a dead mount") {
		t.Errorf("%+v\n%s", s.NotExamined, o.stderr)
	}
}

// TestAllNodesLeaveADeadDirectoryAlone: the directory of the reports, or a part of the way to it, may be on a mount that does not respond.
func TestAllNodesLeaveADeadDirectoryAlone(t *testing.T) {
	t.Parallel()
	kubectl, dir := fakeKubectl(t, []string{"node-1"}, sends)
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"file": ""}})
	server.Hang()
	o := finish(t, command(t, "node", "--all", "--kubectl", kubectl, "--output-dir", filepath.Join(server.MountPoint(), "reports")))
	if o.status != exitFailed || !strings.Contains(o.stderr, "the directory may be on a dead mount") || o.took > time.Minute {
		t.Errorf("exit status %d after %v\n%s", o.status, o.took, o.stderr)
	}
	if calls, err := os.ReadFile(filepath.Join(dir, "calls")); err == nil {
		t.Errorf("nodes were examined for nothing: %s", calls)
	}
	// Once the mount is gone, the writing process must end, and not write where the mount was.
	_, rest, _ := strings.Cut(o.stderr, "(pid ")
	pid, _, _ := strings.Cut(rest, ")")
	if err := unix.Unmount(server.MountPoint(), unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	server.Abort()
	for start := time.Now(); time.Since(start) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + pid); err != nil {
			break
		}
	}
	if left, err := os.ReadDir(server.MountPoint()); len(left) > 0 || err != nil {
		t.Errorf("below the mount there is %v, %v", left, err)
	}
}
