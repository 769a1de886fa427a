package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestAFullDiskIsNamedWithWhatFillsIt fills the file system of the kubelet's directory, on which a mount hangs and a
// deleted file of a container is still open.
func TestAFullDiskIsNamedWithWhatFillsIt(t *testing.T) {
	if !onNode(t) {
		return
	}
	root, uid := t.TempDir(), testfuse.NewUID()
	device := mountLoop(t, root)
	dead := mountVolume(t, root, uid, someVolume())
	startKubelet(t, root, "--eviction-hard=nodefs.available<10%")
	hangUnder(t, dead)

	container := t.TempDir()
	for _, dir := range []string{"lower", "upper", "work"} {
		if err := os.MkdirAll(filepath.Join(root, "layers", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	layers := filepath.Join(root, "layers")
	if err := unix.Mount("overlay", container, "overlay", 0, "lowerdir="+layers+"/lower,upperdir="+layers+"/upper,workdir="+layers+"/work"); err != nil {
		t.Skipf("no overlay: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(container, unix.MNT_DETACH) })
	gone, err := os.Create(filepath.Join(container, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gone.Close() })
	if _, err := gone.Write(make([]byte, 2<<20)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone.Name()); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(root, "pods", livePod, "volumes/kubernetes.io~empty-dir/cache")
	writeTree(t, cache, map[string]string{"data": strings.Repeat("x", 10<<20)})
	disk, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = disk.Close() })
	if err := unix.Syncfs(int(disk.Fd())); err != nil {
		t.Fatal(err)
	}

	r := examine(t, 0, "--no-probe").report(t) // a probe would be one more request of its own
	f := finding(t, r, "disk-pressure")
	if want := (forensics.Entity{Kind: forensics.KindDisk, ID: device}); f.Subject != want || f.Severity != forensics.Critical {
		t.Errorf("%s %v, want critical %v: %s", f.Severity, f.Subject, want, f.Title)
	}
	wantNamed(t, f, root, "nodefs.available<10%", "emptyDir volumes 10.0 MiB", livePod)
	d := r.Evidence.Disks
	figures, ok := d.Index().Of(eviction.RoleNode)
	var st unix.Statfs_t
	if err := unix.Statfs(root, &st); err != nil {
		t.Fatal(err)
	}
	if !ok || figures.CapacityBytes != st.Blocks*uint64(st.Frsize) || figures.AvailableBytes != st.Bavail*uint64(st.Frsize) {
		t.Errorf("figures %+v, statfs says %+v", figures, st)
	}
	u, ok := d.Index().UsageOf(device)
	if !ok || u.Cut != "" || !slices.Equal(u.Trees, []string{root}) {
		t.Fatalf("usage %+v", u)
	}
	if share := float64(u.UnexplainedBytes) / float64(u.UsedBytes); share > 0.05 || share < -0.05 {
		t.Errorf("%.1f %% are unexplained: %+v", share*100, u)
	}
	if got := u.Kind(eviction.KindDeleted).Bytes; got < 2<<20 || got > 2<<20+64<<10 {
		t.Errorf("%d bytes of deleted files, want 2 MiB: %+v", got, r.Evidence.MountUse.Deleted)
	}
	if n := dead.UnansweredHere(); n != 1 {
		t.Errorf("%d requests wait for the dead mount, want the kubelet's alone", n)
	}
}
