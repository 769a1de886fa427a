package live

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// sysTree makes a /sys tree of files and symbolic links ("-> target").
func sysTree(t *testing.T, files map[string]string) *hostfs.FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, name)
		} else {
			err = os.WriteFile(name, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return openFS(t, root)
}

func TestSuspended(t *testing.T) {
	fsys := sysTree(t, map[string]string{
		"sys/dev/block/253:0":                         "-> ../../devices/virtual/block/dm-0",
		"sys/devices/virtual/block/dm-0/dm/suspended": "1\n",
		"sys/dev/block/253:1/dm/suspended":            "0\n",
		"sys/dev/block/254:0/size":                    "1\n",
	})
	for device, want := range map[string]bool{
		"253:0": true, "253:1": false, "254:0": false, "0:46": false, "": false, "../../devices/virtual/block/dm-0": false,
	} {
		if got := suspended(fsys, device); got != want {
			t.Errorf("suspended(%q) = %t; want %t", device, got, want)
		}
	}
}

// TestCheckSuspended says of a mount, by a made-up /sys, that its device is suspended.
func TestCheckSuspended(t *testing.T) {
	dir := tempDir(t)
	s := testfuse.Mount(t, dir, testfuse.Options{})
	x := readIndex(t)
	list := topmost(t, x, dir)
	fsys := sysTree(t, map[string]string{"sys/dev/block/" + s.Device() + "/dm/suspended": "1\n"})
	check := func(ctx context.Context, hungAfter time.Duration) mounts.Health {
		return checked(ctx, x, list, CheckOptions{FS: fsys, HungAfter: hungAfter})[0]
	}
	if got := check(t.Context(), longWait); got.Status != mounts.StatusFrozen || got.Reason == "" {
		t.Errorf("answers: %+v; want frozen", got)
	}
	s.Hang()
	if got := check(t.Context(), shortWait); got.Status != mounts.StatusFrozen || got.Seconds < shortWait.Seconds() {
		t.Errorf("hangs: %+v; want frozen", got)
	}
}
