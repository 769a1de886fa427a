package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/testfuse"
)

// TestHoldersOfHungMount asks for the holders of a mount that does not answer, by its path and by one below it.
func TestHoldersOfHungMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: FUSE mounts and other users' descriptors")
	}
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{Type: "fuse.ceph-fuse", Source: "10.0.0.5:/k8s"})
	name := filepath.Join(fuse.MountPoint(), "a\x1b[31mb")
	holder := testfuse.Hold(t, testfuse.FD, name)
	fuse.Hang()
	for _, query := range []string{fuse.MountPoint(), fuse.MountPoint() + "/below/it", filepath.Base(fuse.MountPoint())} {
		o := finish(t, command(t, "holders", query))
		if o.status != exitDone {
			t.Errorf("holders %s: status %d\n%s", query, o.status, o.stderr)
		}
		wants := []string{
			fuse.MountPoint() + ": fuse.ceph-fuse from 10.0.0.5:/k8s", strconv.Itoa(holder.PID()), "root", `a\x1b[31mb`, "Not visible",
		}
		if tellsConnections(t, fuse.PID()) {
			wants = append(wants, "served by process "+strconv.Itoa(fuse.PID()))
		}
		for _, want := range wants {
			if !strings.Contains(o.stdout, want) {
				t.Errorf("holders %s does not say %q:\n%s", query, want, o.stdout)
			}
		}
		if strings.Contains(o.stdout, "\x1b") {
			t.Errorf("holders %s writes an escape sequence to the terminal: %q", query, o.stdout)
		}
	}
	o := finish(t, command(t, "holders", "--json", fuse.MountPoint()))
	var got struct{ Answers []heldMounts }
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil {
		t.Fatalf("%v\n%s", err, o.stdout)
	}
	if len(got.Answers) != 1 || len(got.Answers[0].Mounts) != 1 || len(got.Answers[0].Mounts[0].Holders) != 1 {
		t.Fatalf("answers %+v, want one mount with one holder", got.Answers)
	}
	if h := got.Answers[0].Mounts[0].Holders[0]; h.PID != holder.PID() || h.Kind != "fd" || h.Path != name || h.ByPath {
		t.Errorf("holder %+v", h)
	}
}

// tellsConnections says whether the kernel tells which connection a descriptor of /dev/fuse is (Linux 6.16). Otherwise the
// server is a guess from its command line, which does not name the mount here; and where the first process may not be
// looked at, as in some sandboxes, it cannot be said that there is none.
func tellsConnections(t *testing.T, pid int) bool {
	t.Helper()
	infos, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if text, err := os.ReadFile(info); err == nil && strings.Contains(string(text), "fuse_connection:") {
			return true
		}
	}
	return false
}

func TestHoldersOfNothing(t *testing.T) {
	o := finish(t, command(t, "holders", "no-such-volume"))
	if o.status != exitFailed || !strings.Contains(o.stderr, "no-such-volume") {
		t.Errorf("status %d, %q; want 1 and the name", o.status, o.stderr)
	}
	if o := finish(t, command(t, "holders")); o.status != exitUsage {
		t.Errorf("without an argument: status %d, want %d", o.status, exitUsage)
	}
}
