package checks

import (
	"maps"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/diskview"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

var _ = func() bool { maps.Copy(scenarios, diskScenarios()); return true }()

const gib = 1 << 30

// oneDisk is a disk of 100 GiB that holds everything and of which some percent are available.
func oneDisk(s eviction.Settings, available uint64) *eviction.State {
	return &eviction.State{
		Places: []eviction.Place{
			{Role: eviction.RoleNode, Path: kubeletRoot, Device: "254:0"},
			{Role: eviction.RoleImage, Path: "/var/lib/containerd", Device: "254:0"},
			{Role: eviction.RoleContainer, Path: "/var/lib/containerd", Device: "254:0"},
		},
		FileSystems: []eviction.FileSystem{{
			Device: "254:0", MountPoint: "/", FSType: "ext4", Source: "/dev/vda",
			CapacityBytes: 100 * gib, FreeBytes: available * gib, AvailableBytes: available * gib, Inodes: 1000, InodesFree: 900,
		}},
		Thresholds: s.Thresholds(), ImageGC: s.ImageGC(), Problems: s.Problems(), Usage: []eviction.Usage{},
	}
}

// disk puts a disk in place of the one that is there.
func disk(available uint64, edit ...func(*eviction.State)) change {
	return func(_ testing.TB, e *forensics.Evidence) {
		e.Disks = oneDisk(eviction.Settings{Minor: 34}, available)
		for _, f := range edit {
			f(e.Disks)
		}
	}
}

// settings are others than the defaults.
func settings(s eviction.Settings) func(*eviction.State) {
	return func(d *eviction.State) {
		d.Thresholds, d.ImageGC, d.Problems = s.Thresholds(), s.ImageGC(), s.Problems()
	}
}

// apart puts images on a disk of their own.
func apart(available uint64) func(*eviction.State) {
	return func(d *eviction.State) {
		d.Places[1].Device, d.Places[2].Device = "8:16", "8:16"
		d.FileSystems = append(d.FileSystems, eviction.FileSystem{
			Device: "8:16", MountPoint: "/var/lib/containerd", FSType: "xfs", CapacityBytes: 200 * gib, FreeBytes: available * gib, AvailableBytes: available * gib,
		})
	}
}

func diskScenarios() map[string][]scenario {
	return map[string][]scenario{
		"disk-pressure":       diskPressureOnDisks(),
		"disk-near-threshold": diskNearThresholdOnDisks(),
	}
}

// fill says that an emptyDir of a pod takes most.
func fill(d *eviction.State) {
	d.Usage = []eviction.Usage{{
		Device: "254:0", UsedBytes: 91 * gib, CountedBytes: 90 * gib, UnexplainedBytes: gib,
		Kinds: []eviction.KindSum{{Kind: eviction.KindEmptyDir, Bytes: 40 * gib, Items: 1}, {Kind: eviction.KindLayers, Bytes: 30 * gib, Items: 1}},
		Items: []eviction.Item{
			{Kind: eviction.KindEmptyDir, Path: kubeletRoot + "/pods/" + deadUID + "/volumes/kubernetes.io~empty-dir", Bytes: 40 * gib, PodUID: deadUID},
			{Kind: eviction.KindLayers, Path: "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs", Bytes: 30 * gib},
		},
	}}
}

// image is one of 2 GiB.
func image(name string, edit ...func(*runtimes.Image)) runtimes.Image {
	i := runtimes.Image{ID: "sha256:" + name, Names: []string{name}, SizeBytes: ptr(int64(2 * gib)), Containers: []string{}}
	for _, f := range edit {
		f(&i)
	}
	return i
}

func used(i *runtimes.Image)   { i.Containers = []string{"c0ffee"} }
func pinned(i *runtimes.Image) { i.Pinned = true }

// TestImagesAtRisk and the next one hold to a positive and near misses what stands under ids of checks that rest on logs.
func TestImagesAtRisk(t *testing.T) {
	const app = "registry.local/app:1.0"
	for _, tt := range []scenario{
		{name: "a static pod must not pull it", change: static(app, "Never", disk(16), image(app)), want: []string{"warning subsystem image-gc"}, says: app + " (imagePullPolicy Never)"},
		{name: "a registry may have it", change: static(app, "IfNotPresent", disk(16), image(app)), want: []string{"info subsystem image-gc"}},
		{name: "a container has it", change: static(app, "Never", disk(16), image(app, used))},
		{name: "pinned", change: static(app, "Never", disk(16), image(app, pinned))},
		{name: "nothing is about to be deleted", change: static(app, "Never", disk(50), image(app))},
		{name: "another pod's image", change: static("registry.local/other:1", "Never", disk(16), image(app))},
		{name: "missing already, says a dump of the API", change: daemon("node-1", "a:1", "ErrImageNeverPull"), want: []string{"warning subsystem image-gc"}, says: "a:1 (ErrImageNeverPull)"},
		{name: "missing on another node", change: daemon("node-2", "a:1", "ErrImageNeverPull")},
		{name: "there, and its container waits for something else", change: daemon("node-1", "b:1", "ContainerCreating")},
		{name: "images were not read", change: func(tb testing.TB, e *forensics.Evidence) {
			daemon("node-1", "a:1", "ErrImageNeverPull")(tb, e)
			e.Cover(forensics.Source{Source: forensics.SourceRuntime, Status: forensics.SourceDenied})
		}},
		{name: "short names", change: static("busybox", "Never", disk(16), image("docker.io/library/busybox:latest")), want: []string{"warning subsystem image-gc"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.base = wellNode; tt.run(t, local(imagesAtRisk)) })
	}
}

func TestImageGCTooLittle(t *testing.T) {
	few := func(images ...runtimes.Image) change {
		return func(tb testing.TB, e *forensics.Evidence) {
			disk(14)(tb, e) // 86 % used: down to 80 %, 6 GiB have to go
			e.Images = images
		}
	}
	for _, tt := range []scenario{
		{name: "unused images are too small", change: few(image("a"), image("b", used), image("c", pinned)), want: []string{"warning subsystem image-gc"}, says: "it wants 6.0 GiB, and unused images have 2.0 GiB"},
		{name: "there is enough", change: few(image("a"), image("b"), image("c"))},
		{name: "a size is unknown", change: few(image("a", func(i *runtimes.Image) { i.SizeBytes = nil })), outcome: forensics.OutcomeNotChecked},
		{name: "below the threshold", change: disk(16), outcome: forensics.OutcomeClean},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.base = wellNode; tt.run(t, local(imageGCTooLittle)) })
	}
}

// local is a check that is none of the list.
func local(run func(*forensics.Pass)) forensics.Check {
	return forensics.Check{ID: "local", Title: "t", Doc: "d", Severity: forensics.Warning, Needs: diskview.Needs, Run: run}
}

// daemon adds a pod of a DaemonSet to a dump of the API.
func daemon(node, name, waiting string) change {
	return func(_ testing.TB, e *forensics.Evidence) {
		e.Images = []runtimes.Image{image("docker.io/library/b:1")}
		e.Cluster = &apidump.Dump{Pods: []apidump.Pod{{
			Object: apidump.Object{Namespace: "kube-system", Name: "cni", UID: "d", Owners: []apidump.Owner{{Kind: "DaemonSet", Name: "cni", Controller: true}}},
			Node:   node, Images: []apidump.Image{{Name: name, PullPolicy: "IfNotPresent", Waiting: waiting}},
		}}}
	}
}

// static adds a static pod that names an image, and the images of the node.
func static(name, policy string, disk change, images ...runtimes.Image) change {
	return func(tb testing.TB, e *forensics.Evidence) {
		disk(tb, e)
		e.Images = images
		e.Pods = append(e.Pods, kubelet.Pod{UID: "s", Name: "etcd", Source: "manifest", Images: []kubelet.PodImage{{Name: name, PullPolicy: policy}}})
	}
}

// TestOtherUsersAreLookedFor wants the command for what is neither the kubelet's nor the runtime's.
func TestOtherUsersAreLookedFor(t *testing.T) {
	for _, s := range diskScenarios()["disk-pressure"] {
		if s.name != "other users of the disk" {
			continue
		}
		e := s.base(t)
		s.change(t, &e)
		f := forensics.Analyze(&e, []forensics.Check{DiskPressure}).Findings[0]
		if want := `du -xh --max-depth=2 '/home/o'\''hara' | sort`; !strings.HasPrefix(f.Remedies[0].Command, want) {
			t.Errorf("first remedy %q, want %q", f.Remedies[0].Command, want)
		}
	}
}

// TestDiskRemediesNameNoDeletion looks at every remedy of every disk scenario, as TestRemedies does for two nodes.
func TestDiskRemediesNameNoDeletion(t *testing.T) {
	for id, list := range diskScenarios() {
		for _, s := range list {
			e := s.base(t)
			s.change(t, &e)
			for _, f := range forensics.Analyze(&e, All()).Findings {
				for _, r := range f.Remedies {
					if r.Command == "" || r.Why == "" || r.Risk == "" || strings.Contains(r.Command, "rm -") {
						t.Errorf("%s, %s: remedy %+v", id, s.name, r)
					}
				}
				if f.ID == id && f.ConfidenceWhy == "" {
					t.Errorf("%s, %s: no reason for its confidence", id, s.name)
				}
			}
		}
	}
}

// TestHardThresholdsComeFirst has a soft threshold that is passed by more than the hard one.
func TestHardThresholdsComeFirst(t *testing.T) {
	d := oneDisk(eviction.Settings{EvictionHard: map[string]string{"nodefs.available": "10%"}, EvictionSoft: map[string]string{"nodefs.available": "25%"}}, 5)
	met := diskview.Met(d.Index(), d.FileSystems[0])
	if len(met) != 2 || met[0].Threshold.Kind != "hard" || met[1].Threshold.Kind != "soft" {
		t.Errorf("met: %+v", met)
	}
}

// TestNearThresholdAtItsLimits is at the limits of disk-near-threshold and one byte beside them. The threshold is at 15 %.
func TestNearThresholdAtItsLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		available uint64
		want      forensics.Severity // "" for no finding
	}{
		"5 %":              {20 * gib, ""},
		"a byte below 5 %": {20*gib - 1, forensics.Info},
		"2 %":              {17 * gib, forensics.Info},
		"a byte below 2 %": {17*gib - 1, forensics.Warning},
		"at the threshold": {15 * gib, forensics.Warning},
		"a byte past it":   {15*gib - 1, ""}, // is disk-pressure
	} {
		e := wellNode(t)
		e.Disks = oneDisk(eviction.Settings{Minor: 34}, 0)
		e.Disks.FileSystems[0].AvailableBytes, e.Disks.FileSystems[0].FreeBytes = tt.available, tt.available
		var got forensics.Severity
		for _, f := range forensics.Analyze(&e, []forensics.Check{DiskNearThreshold}).Findings {
			got = f.Severity
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
