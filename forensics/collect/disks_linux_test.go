package collect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	runtimeslive "github.com/nodeforensics/nodeforensics/forensics/runtimes/live"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/internal/testvm"
	v1 "github.com/nodeforensics/nodeforensics/internal/v1"
)

func TestMain(m *testing.M) {
	testvm.Main()
	testfuse.Main()
	os.Exit(m.Run())
}

// TestTreesOfAFileSystem wants every part of a superblock once, whatever is mounted where.
func TestTreesOfAFileSystem(t *testing.T) {
	for _, tt := range []struct {
		name, table string
		want        []string
	}{
		{"one mount", "27 1 8:1 / / rw - ext4 /dev/a rw\n", []string{"/"}},
		{"a part over itself, as a kubelet in a container has it", "27 1 8:1 / / rw - ext4 /dev/a rw\n42 27 8:1 /var/lib/kubelet /var/lib/kubelet rw - ext4 /dev/a rw\n", []string{"/", "/var/lib/kubelet"}},
		{"a local volume is seen where it lies", "27 1 8:1 / / rw - ext4 /dev/a rw\n50 27 8:1 /mnt/v1 /var/lib/kubelet/pods/u/volumes/l rw - ext4 /dev/a rw\n", []string{"/"}},
		{"the same twice", "27 1 8:1 / / rw - ext4 /dev/a rw\n50 27 8:1 / /again rw - ext4 /dev/a rw\n", []string{"/"}},
		{"a part twice", "27 1 8:1 /@ / rw - btrfs /dev/a rw\n28 27 8:1 /@home /home rw - btrfs /dev/a rw\n29 27 8:1 /@home /again rw - btrfs /dev/a rw\n", []string{"/", "/home"}},
		{"hidden by another file system", "27 1 8:1 / / rw - ext4 /dev/a rw\n50 27 8:2 / /data rw - xfs /dev/b rw\n51 27 8:1 /data /old rw - ext4 /dev/a rw\n", []string{"/", "/old"}},
		{"subvolumes", "27 1 8:1 /@ / rw - btrfs /dev/a rw\n28 27 8:1 /@home /home rw - btrfs /dev/a rw\n", []string{"/", "/home"}},
		{"covered mounts are not to be reached", "27 1 8:1 / /a rw - ext4 /dev/a rw\n28 27 8:2 / /a rw - ext4 /dev/b rw\n", []string{}},
		{"removed directories are not to be reached", "27 1 8:1 / / rw - ext4 /dev/a rw\n28 27 8:2 / /data rw - ext4 /dev/b rw\n29 27 8:1 /data/x//deleted /y rw - ext4 /dev/a rw\n", []string{"/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, errs := mounts.Parse(strings.NewReader(tt.table))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			table := mounts.Table{Mounts: list}
			m := measurer{views: map[string]view{"8:1": {table: table.Index()}}}
			if diff := cmp.Diff(tt.want, m.trees(t.Context(), eviction.FileSystem{Device: "8:1"})); diff != "" {
				t.Errorf("trees (-want +got):\n%s", diff)
			}
		})
	}
}

// measured is what the disks of a node with this kubelet look like.
func measured(t *testing.T, root string, edit func(*forensics.Evidence), opt Options) forensics.Evidence {
	t.Helper()
	c, err := newCollector(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	table, err := mountslive.Read(t.Context(), c.fs, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.evidence.Mounts = table
	c.evidence.Kubelet = &kubelet.Instance{Version: "1.34.4", RootDir: root, CanonicalRoot: root, Flags: map[string]string{}, Config: &kubelet.Config{}}
	if edit != nil {
		edit(&c.evidence)
	}
	c.disks(t.Context())
	return c.evidence
}

// TestADeadDiskIsNotAsked has the kubelet's directory on a mount that hangs: it is known from others that it does.
func TestADeadDiskIsNotAsked(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("FUSE mounts need root")
	}
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	fuse.Hang()
	for name, status := range map[string]mounts.Status{"hung": mounts.StatusHung, "not probed": mounts.StatusNotProbed} {
		t.Run(name, func(t *testing.T) {
			e := measured(t, filepath.Join(fuse.MountPoint(), "kubelet"), func(e *forensics.Evidence) {
				v1.AddHealth(e, mounts.Health{Device: fuse.Device(), MountPoint: fuse.MountPoint(), Status: status, Seconds: 20})
			}, Options{DiskUsage: -1})
			if n := fuse.Unanswered(); n > 0 {
				t.Errorf("%d requests wait for the dead mount", n)
			}
			if _, ok := e.Disks.Index().Of(eviction.RoleNode); ok {
				t.Errorf("a dead file system has figures: %+v", e.Disks)
			}
			i := slices.IndexFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == forensics.SourceDisks })
			if i < 0 || e.Coverage[i].Status != forensics.SourceTruncated || !strings.Contains(e.Coverage[i].Detail, "nodefs: ") {
				t.Errorf("coverage %+v", e.Coverage)
			}
		})
	}
}

// TestAPlaceOnABindMount has the kubelet's directory on a bind mount of a part of its disk: the disk is named by where all of it is seen.
func TestAPlaceOnABindMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounts need root")
	}
	disk, root := t.TempDir(), t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	if err := os.Mkdir(filepath.Join(disk, "kubelet"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(filepath.Join(disk, "kubelet"), root, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	e := measured(t, root, nil, Options{})
	p, ok := e.Disks.Place(eviction.RoleNode)
	i := slices.IndexFunc(e.Disks.FileSystems, func(f eviction.FileSystem) bool { return f.Device == p.Device })
	if !ok || i < 0 || p.Path != root || e.Disks.FileSystems[i].MountPoint != disk {
		t.Errorf("nodefs is %+v on %+v, want the disk at %s", p, e.Disks.FileSystems, disk)
	}
}

// TestADiskWithAServerIsNotWalked has one that answers, but would have to be asked for each file.
func TestADiskWithAServerIsNotWalked(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("FUSE mounts need root")
	}
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"pods/x": ""}})
	e := measured(t, fuse.MountPoint(), func(e *forensics.Evidence) {
		e.Probes = []mounts.Probe{{Device: fuse.Device(), MountPoint: fuse.MountPoint()}}
		e.Runtimes = nil
	}, Options{DiskUsage: 1})
	p, ok := e.Disks.Place(eviction.RoleNode)
	if !ok || p.Device != fuse.Device() {
		t.Errorf("nodefs is %+v, want %s", p, fuse.Device())
	}
	if _, ok := e.Disks.Index().UsageOf(fuse.Device()); ok || !strings.Contains(e.Disks.NotWalked, "is a remote file system") {
		t.Errorf("usage %+v, not walked %q", e.Disks.Usage, e.Disks.NotWalked)
	}
}

// TestDisksFarFromThresholdsAreNotWalked: to count what fills a disk takes long, and only one that is nearly full is worth it, unless that is
// asked for.
func TestDisksFarFromThresholdsAreNotWalked(t *testing.T) {
	dir := t.TempDir()
	e := measured(t, dir, nil, Options{})
	index, far := e.Disks.Index(), 0
	for _, f := range e.Disks.FileSystems {
		if !index.IsNear(f.Device) {
			far++
		}
	}
	if says := strings.Contains(e.Disks.NotWalked, "no eviction threshold is near"); says != (far > 0) || len(e.Disks.FileSystems) == 0 {
		t.Errorf("%d of %d file systems are far from thresholds, not walked: %q", far, len(e.Disks.FileSystems), e.Disks.NotWalked)
	}
	if e := measured(t, dir, nil, Options{DiskUsage: time.Second}); strings.Contains(e.Disks.NotWalked, "no eviction threshold is near") {
		t.Errorf("asked for, not walked: %q", e.Disks.NotWalked)
	}
}

// TestADiskOfAnotherNodeIsMeasured examines a directory tree as --root does.
func TestADiskOfAnotherNodeIsMeasured(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"mnt/ssd/kubelet/pods", "var/lib/containerd", "var/log/pods"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c, err := newCollector(t.Context(), Options{Root: root, DiskUsage: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	c.evidence.Kubelet = &kubelet.Instance{CanonicalRoot: "/mnt/ssd/kubelet", Flags: map[string]string{}}
	c.disks(t.Context())
	d := c.evidence.Disks
	for _, role := range []string{eviction.RoleNode, eviction.RoleImage, eviction.RoleContainer, eviction.RolePodLogs} {
		if f, ok := d.Index().Of(role); !ok || f.Device == "" {
			t.Errorf("%s: %+v in %+v", role, f, d)
		}
	}
	text, err := json.Marshal(d)
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("as JSON (%v): %s", err, text)
	}
	if d.Assumed == "" {
		t.Error("thresholds without a configuration are not said to be assumed")
	}
	if len(d.Usage) != 1 || d.Usage[0].Entries == 0 || !slices.Equal(d.Usage[0].Trees, []string{"/"}) {
		t.Errorf("usage %+v", d.Usage)
	}
}

// TestSettingsAreThoseOfTheKubelet wants each field of the configuration to have its effect.
func TestSettingsAreThoseOfTheKubelet(t *testing.T) {
	merge, high, low := true, 70, 60
	k := &kubelet.Instance{Flags: map[string]string{"image-gc-low-threshold": "50"}, Config: &kubelet.Config{
		EvictionHard: map[string]string{"nodefs.available": "1Gi"}, MergeDefaultEviction: &merge,
		EvictionSoft: map[string]string{"imagefs.available": "20%"}, EvictionSoftGracePeriod: map[string]string{"imagefs.available": "2m"},
		ImageGCHighThreshold: &high, ImageGCLowThreshold: &low,
	}}
	s := (&forensics.Evidence{Kubelet: k}).DiskSettings(34)
	var got []string
	for _, th := range s.Thresholds() {
		got = append(got, th.Kind+" "+th.String()+" "+th.Grace)
	}
	want := []string{
		"hard nodefs.available<1Gi ", "hard nodefs.inodesFree<5% ", "hard imagefs.available<15% ", "hard imagefs.inodesFree<5% ", "soft imagefs.available<20% 2m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("thresholds (-want +got):\n%s", diff)
	}
	if gc := s.ImageGC(); gc.HighPercent != 70 || gc.LowPercent != 50 {
		t.Errorf("image collection %+v, want from 70 down to the flag's 50", gc)
	}
}

// TestWritableLayersAreFound wants those of overlays that are mounted, by the runtime's own name for its root directory,
// and those that the runtime's files name.
func TestWritableLayersAreFound(t *testing.T) {
	const id = "d0e14bf51090f4681b151b071e6e889144f3092d83e9f9377d045f60763918e2"
	m := measurer{rooted: "/var/lib/containerd", evidence: forensics.Evidence{
		Mounts: mounts.Table{Mounts: []mounts.Mount{
			{FSType: "overlay", MountPoint: "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" + id + "/rootfs", SuperOptions: "rw,lowerdir=/l,upperdir=/var/lib/containerd/s/snapshots/40/fs,workdir=/var/lib/containerd/s/snapshots/40/work"},
			{FSType: "overlay", MountPoint: "/mnt", SuperOptions: "rw,lowerdir=/l,upperdir=/home/u/upper,workdir=/home/u/work"},
			{FSType: "ext4", MountPoint: "/", SuperOptions: "rw"},
		}},
		Containers: []runtimes.Container{{ID: "a", Runtime: "containerd", Root: "/var/lib/containerd", SnapshotKey: "key"}},
	}}
	got := m.writable(runtimeslive.Store{Root: "/data/containerd", Layers: "/data/containerd/s"})
	if diff := cmp.Diff(map[string]string{"/data/containerd/s/snapshots/40": id}, got); diff != "" {
		t.Errorf("containerd (-want +got):\n%s", diff)
	}
	m = measurer{rooted: "/var/lib/docker", evidence: forensics.Evidence{Containers: []runtimes.Container{
		{ID: "a", Runtime: "docker", Root: "/var/lib/docker", SnapshotKey: "layer"},
		{ID: "b", Runtime: "docker", Root: "/elsewhere", SnapshotKey: "layer-2"},
		{ID: "c", Runtime: "docker", Root: "/var/lib/docker", SnapshotKey: "../../etc"},
	}}}
	got = m.writable(runtimeslive.Store{Root: "/var/lib/docker", Layers: "/var/lib/docker/overlay2"})
	if diff := cmp.Diff(map[string]string{"/var/lib/docker/overlay2/layer": "a"}, got); diff != "" {
		t.Errorf("docker (-want +got):\n%s", diff)
	}
}
