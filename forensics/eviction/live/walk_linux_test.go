package live

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

const uid = "5c948341-c030-4996-b888-f032577d97b0"

// count walks everything below a directory that stands for the root of a node.
func count(t testing.TB, root string, opt WalkOptions, extra ...eviction.Item) eviction.Usage {
	t.Helper()
	fsys := openRoot(t, root)
	opt.Layout.KubeletRoot, opt.Layout.PodLogs = "/var/lib/kubelet", "/var/log/pods"
	opt.Layout.Runtime, opt.Layout.Root, opt.Layout.Images = "containerd", "/var/lib/containerd", "/var/lib/containerd"
	c := NewWalker(opt)
	c.Walk(t.Context(), fsys, "/")
	return c.Usage(figures(t, fsys), extra...)
}

func bytesOf(u eviction.Usage, kind, path string) int64 {
	for _, item := range u.Items {
		if item.Kind == kind && item.Path == path {
			return item.Bytes
		}
	}
	return -1
}

func TestWalkSaysWhatIsWhose(t *testing.T) {
	root := mountLoop(t, 64<<20)
	const mib = 1 << 20
	layer := "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/"
	write(t, 3*mib, root, "var/lib/containerd/io.containerd.content.v1.content/blobs/sha256/aa")
	write(t, 2*mib, root, layer, "38/fs/bin/sh")
	write(t, mib, root, layer, "39/fs/tmp/x")
	write(t, 4*mib, root, "var/lib/kubelet/pods", uid, "volumes/kubernetes.io~empty-dir/cache/data")
	write(t, mib, root, "var/lib/kubelet/pods", uid, "volumes/kubernetes.io~csi/pvc-1/mount/left")
	write(t, mib, root, "var/log/pods/shop_web-1_"+uid+"/app/0.log")
	write(t, 2*mib, root, "var/log/journal/0123/system.journal")
	write(t, 5*mib, root, "opt/local-path-provisioner/pvc-7d1c2a70-1d2e-4f6b-9b5e-2a7a4c1de201_shop_data-db-0/ibdata")
	write(t, mib, root, "usr/bin/bash")
	u := count(t, root, WalkOptions{Layout: eviction.Layout{Writable: map[string]string{layer + "39": "c0ffee"}}})
	for _, want := range []struct {
		kind, path string
		mib        int64
	}{
		{eviction.KindEmptyDir, "/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~empty-dir", 4},
		{eviction.KindPod, "/var/lib/kubelet/pods/" + uid, 1},
		{eviction.KindImages, "/var/lib/containerd/io.containerd.content.v1.content", 3},
		{eviction.KindLayers, "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs", 2},
		{eviction.KindWritable, layer + "39", 1},
		{eviction.KindLogs, "/var/log/pods/shop_web-1_" + uid, 1},
		{eviction.KindJournal, "/var/log/journal", 2},
		{eviction.KindVolume, "/opt/local-path-provisioner/pvc-7d1c2a70-1d2e-4f6b-9b5e-2a7a4c1de201_shop_data-db-0", 5},
		{eviction.KindOther, "/usr", 1},
	} {
		// Directories take a block or two each.
		if got := bytesOf(u, want.kind, want.path); got < want.mib*mib || got > want.mib*mib+64<<10 {
			t.Errorf("%s %s: %d bytes, want %d MiB", want.kind, want.path, got, want.mib)
		}
	}
	for _, item := range u.Items {
		switch {
		case item.Kind == eviction.KindVolume && item.Claim != "shop/data-db-0",
			item.Kind == eviction.KindWritable && item.ContainerID != "c0ffee",
			slices.Contains([]string{eviction.KindEmptyDir, eviction.KindPod, eviction.KindLogs}, item.Kind) && item.PodUID != uid:
			t.Errorf("whose it is is not said: %+v", item)
		}
	}
	if u.Kinds[0].Kind != eviction.KindVolume || u.Items[0].Kind != eviction.KindVolume {
		t.Errorf("the largest is not the first: %+v", u.Kinds)
	}
	wantExplained(t, u)
}

// wantExplained wants a tree that was walked to the end to add up to what df says, but for 5 %.
func wantExplained(t testing.TB, u eviction.Usage) {
	t.Helper()
	t.Logf("used %d, counted %d, unexplained %d (%.2f %%), %d entries", u.UsedBytes, u.CountedBytes, u.UnexplainedBytes,
		float64(u.UnexplainedBytes)*100/float64(u.UsedBytes), u.Entries)
	if u.Cut != "" || u.Problems > 0 {
		t.Errorf("cut %q, %d problems, first %s", u.Cut, u.Problems, u.Problem)
	}
	if share := float64(max(u.UnexplainedBytes, -u.UnexplainedBytes)) / float64(u.UsedBytes); share > 0.05 {
		t.Errorf("%.1f %% are unexplained: %+v", share*100, u)
	}
}

// settle waits until blocks are allocated for all that was written.
func settle(t testing.TB, point string) {
	t.Helper()
	dir, err := os.Open(point)
	must(t, err)
	defer func() { _ = dir.Close() }()
	must(t, unix.Syncfs(int(dir.Fd())))
}

// df is what df(1) says of a file system: size, used and available in bytes, and inodes.
func df(t testing.TB, point string) (figures [6]uint64) {
	t.Helper()
	out, err := exec.Command("df", "--block-size=1", "--output=size,used,avail,itotal,iused,iavail", point).Output()
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, field := range strings.Fields(lines[len(lines)-1]) {
		figures[i], err = strconv.ParseUint(field, 10, 64)
		must(t, err)
	}
	return figures
}

// TestAFullDisk fills a file system to 95 %, with a file of 100 MB among it that is deleted and still open.
func TestAFullDisk(t *testing.T) {
	root := mountLoop(t, 400<<20)
	deleted := write(t, 100_000_000, root, "var/lib/kubelet/pods", uid, "volumes/kubernetes.io~empty-dir/cache/gone")
	open, err := os.Open(deleted)
	must(t, err)
	defer func() { _ = open.Close() }()
	must(t, os.Remove(deleted))
	for i := 0; ; i++ {
		f := figures(t, openRoot(t, root))
		left := int64(f.AvailableBytes) - int64(f.CapacityBytes)/20
		if left <= 1<<20 {
			break
		}
		write(t, int(min(left, 30<<20)), root, "var/lib/kubelet/pods", uid, "volumes/kubernetes.io~empty-dir/cache", strconv.Itoa(i))
	}
	settle(t, root)
	var st unix.Stat_t
	must(t, unix.Fstat(int(open.Fd()), &st))
	u := count(t, root, WalkOptions{}, eviction.Item{Kind: eviction.KindDeleted, Path: deleted, Bytes: st.Blocks * 512, Files: 1})
	f, d := figures(t, openRoot(t, root)), df(t, root)
	if got := [6]uint64{f.CapacityBytes, f.UsedBytes(), f.AvailableBytes, f.Inodes, f.Inodes - f.InodesFree, f.InodesFree}; got != d {
		t.Errorf("figures %v, df says %v", got, d)
	}
	if f.UsagePercent() < 94 {
		t.Errorf("%d %% are used, want 95", f.UsagePercent())
	}
	wantExplained(t, u)
	if share := float64(u.UnexplainedBytes) / float64(u.UsedBytes); share > 0.02 || share < -0.02 {
		t.Errorf("%.2f %% do not add up, want at most 2", share*100)
	}
	if without := count(t, root, WalkOptions{}); float64(without.UnexplainedBytes) < 0.2*float64(without.UsedBytes) {
		t.Errorf("without the deleted file only %d bytes are unexplained: it is counted twice", without.UnexplainedBytes)
	}
}

func TestADiskWithoutInodes(t *testing.T) {
	root := mountLoop(t, 16<<20, "-N", "64")
	write(t, 4<<20, root, "data")
	for i := 0; ; i++ {
		if err := os.WriteFile(filepath.Join(root, strconv.Itoa(i)), nil, 0o644); err != nil {
			break
		}
	}
	settle(t, root)
	f, d := figures(t, openRoot(t, root)), df(t, root)
	if f.InodesFree != 0 || d[5] != 0 || f.Inodes != d[3] {
		t.Errorf("inodes %d of %d are free, df says %v", f.InodesFree, f.Inodes, d)
	}
	if what, full := f.Full(); !full || what != "inodes" {
		t.Errorf("full %v of %q", full, what)
	}
	wantExplained(t, count(t, root, WalkOptions{}))
}

// TestWalkCrossesNothing has a FUSE mount below the tree that hangs, a tmpfs, and links that lead out.
func TestWalkCrossesNothing(t *testing.T) {
	root := mountLoop(t, 32<<20)
	write(t, 1<<20, root, "a/real")
	must(t, os.Link(filepath.Join(root, "a/real"), filepath.Join(root, "a/hard")))
	must(t, os.MkdirAll(filepath.Join(root, "b"), 0o755))
	must(t, os.Link(filepath.Join(root, "a/real"), filepath.Join(root, "b/hard")))
	must(t, os.Symlink("/", filepath.Join(root, "everything")))
	must(t, os.Symlink("a", filepath.Join(root, "again")))
	must(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o600))
	sparse := write(t, 4096, root, "sparse/file")
	must(t, os.Truncate(sparse, 10<<30))
	memory := filepath.Join(root, "memory")
	must(t, os.MkdirAll(memory, 0o755))
	must(t, unix.Mount("tmpfs", memory, "tmpfs", 0, "size=4m"))
	t.Cleanup(func() { _ = unix.Unmount(memory, unix.MNT_DETACH) })
	write(t, 2<<20, memory, "elsewhere")
	dead := filepath.Join(root, "var/lib/kubelet/pods", uid, "volumes/kubernetes.io~csi/pvc-1/mount")
	must(t, os.MkdirAll(dead, 0o755))
	fuse := testfuse.Mount(t, dead, testfuse.Options{})
	fuse.Hang()

	u := count(t, root, WalkOptions{})
	wantExplained(t, u)
	if u.CountedBytes > 2<<20 {
		t.Errorf("%d bytes counted, want the one MiB that is there once: %+v", u.CountedBytes, u.Items)
	}
	if n := fuse.Unanswered(); n > 0 {
		t.Errorf("%d requests wait for the mount that hangs", n)
	}
}

func TestWalkIsCutAndSaysSo(t *testing.T) {
	root := t.TempDir()
	for i := range 3000 {
		write(t, 0, root, "d"+strconv.Itoa(i%30), strconv.Itoa(i))
	}
	if u := count(t, root, WalkOptions{MaxEntries: 1000, Workers: 1}); !strings.Contains(u.Cut, "more than 1000 files") || u.Entries > 2500 {
		t.Errorf("cut %q after %d entries", u.Cut, u.Entries)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := NewWalker(WalkOptions{})
	c.Walk(ctx, openRoot(t, root), "/")
	if u := c.Usage(eviction.FileSystem{}); u.Cut != "it timed out" || u.Entries > 0 {
		t.Errorf("cut %q after %d entries", u.Cut, u.Entries)
	}
	if u := count(t, root, WalkOptions{}); u.Cut != "" || u.Entries != 3030 {
		t.Errorf("cut %q after %d entries, want all 3030", u.Cut, u.Entries)
	}
}

// TestWalkBeginsWithWhatMatters walks a directory before the tree that it is in, and counts it once.
func TestWalkBeginsWithWhatMatters(t *testing.T) {
	root := mountLoop(t, 32<<20)
	write(t, 4<<20, root, "var/lib/kubelet/pods", uid, "volumes/kubernetes.io~empty-dir/cache/data")
	write(t, 1<<20, root, "usr/bin/bash")
	settle(t, root)
	fsys := openRoot(t, root)
	layout := eviction.Layout{KubeletRoot: "/var/lib/kubelet"}
	first := NewWalker(WalkOptions{Layout: layout})
	first.Walk(t.Context(), fsys, "/var/lib/kubelet")
	if u := first.Usage(figures(t, fsys)); u.Kind(eviction.KindEmptyDir).Bytes < 4<<20 || u.Kind(eviction.KindOther).Bytes > 0 {
		t.Errorf("the kubelet's directory alone: %+v", u.Kinds)
	}
	both := NewWalker(WalkOptions{Layout: layout})
	both.Walk(t.Context(), fsys, "/var/lib/kubelet", "/", "/var/lib/kubelet")
	u := both.Usage(figures(t, fsys))
	wantExplained(t, u)
	if once := u.Kind(eviction.KindEmptyDir).Bytes; once < 4<<20 || once > 5<<20 {
		t.Errorf("%d bytes of emptyDirs, want 4 MiB once", once)
	}
}

func TestWalkOfWhatIsNotThereIsAProblem(t *testing.T) {
	c := NewWalker(WalkOptions{})
	c.Walk(t.Context(), openRoot(t, t.TempDir()), "/missing")
	if u := c.Usage(eviction.FileSystem{}); u.Problems != 1 || !strings.Contains(u.Problem, "missing") {
		t.Errorf("usage %+v", u)
	}
}

func BenchmarkWalk(b *testing.B) {
	root := b.TempDir()
	const files = 20_000
	for i := range files {
		write(b, 0, root, "var/lib/kubelet/pods", uid, strconv.Itoa(i%400), strconv.Itoa(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		count(b, root, WalkOptions{})
	}
	b.ReportMetric(float64(b.N)*files/b.Elapsed().Seconds(), "files/s")
}
