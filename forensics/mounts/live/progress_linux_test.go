package live_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// TestAwaitProgress lets three of five disks complete requests, one of them of the wrong sort.
func TestAwaitProgress(t *testing.T) {
	root := t.TempDir()
	write := func(name string, reads, writes int) {
		text := fmt.Sprintf("%d 0 0 0 %d 0 0 0 1 0 0 0 0 0 0 0 0\n", reads, writes)
		file := filepath.Join(root, name, "stat")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"sys/dev/block/8:1", "sys/dev/block/8:2", "sys/dev/block/8:3", "sys/class/block/sdd"} {
		write(name, 7, 7)
	}
	fsys, err := hostfs.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	disk := func(device, source string, writing bool) mountslive.Disk {
		return mountslive.Disk{Mount: mounts.Mount{Device: device, Source: source}, Writing: writing}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 8; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			write("sys/dev/block/8:1", n, 7)
			write("sys/dev/block/8:2", n, 7)
			write("sys/class/block/sdd", 7, n)
		}
	}()
	got := mountslive.AwaitProgress(t.Context(), fsys, []mountslive.Disk{
		disk("8:1", "/dev/sda1", false), disk("8:2", "/dev/sda2", true), disk("8:3", "/dev/sda3", false),
		disk("0:44", "/dev/sdd", true), disk("9:9", "/dev/gone", false),
	}, 200*time.Millisecond)
	close(stop)
	<-stopped
	works := map[string]bool{}
	for _, p := range got {
		works[p.Device] = p.Completed > 0
	}
	want := map[string]bool{"8:1": true, "8:2": false, "8:3": false, "0:44": true} // of the last one the kernel tells nothing
	if diff := cmp.Diff(want, works); diff != "" {
		t.Errorf("disks that work (-want +got):\n%s", diff)
	}
	if got := mountslive.AwaitProgress(t.Context(), fsys, nil, time.Hour); len(got) != 0 {
		t.Errorf("%v of no disks", got)
	}
}
