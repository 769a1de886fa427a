package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/diskview"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

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

// secondDisk puts images on a disk of their own.
func secondDisk(available uint64) func(*eviction.State) {
	return func(d *eviction.State) {
		d.Places[1].Device, d.Places[2].Device = "8:16", "8:16"
		d.FileSystems = append(d.FileSystems, eviction.FileSystem{
			Device: "8:16", MountPoint: "/var/lib/containerd", FSType: "xfs", CapacityBytes: 200 * gib, FreeBytes: available * gib, AvailableBytes: available * gib,
		})
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
	for _, s := range diskPressureOnDisks() {
		if s.name != "other users of the disk" {
			continue
		}
		e := s.base(t)
		s.change(t, &e)
		f := forensics.Analyze(&e, []forensics.Check{diskPressure}).Findings[0]
		if want := `du -xh --max-depth=2 --threshold=100M '/home/o'\''hara'`; !strings.HasPrefix(f.Remedies[0].String(), want) {
			t.Errorf("first remedy %q, want %q", f.Remedies[0].String(), want)
		}
	}
}

// TestDiskRemediesNameNoDeletion looks at every remedy of every disk scenario, as TestRemedies does for two nodes.
func TestDiskRemediesNameNoDeletion(t *testing.T) {
	for _, id := range []string{"disk-pressure", "disk-near-threshold"} {
		for _, s := range scenarios[id] {
			e := s.base(t)
			s.change(t, &e)
			for _, f := range forensics.Analyze(&e, All()).Findings {
				for _, r := range f.Remedies {
					if r.String() == "" || r.Why == "" || r.Risk == "" || strings.Contains(r.String(), "rm -") {
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
