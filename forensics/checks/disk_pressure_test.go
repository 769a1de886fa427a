package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/diskview"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

var _ = scenariosOf("disk-pressure", diskPressureOnDisks())

func diskPressureOnDisks() []scenario {
	soft := map[string]string{"nodefs.available": "25%"}
	return []scenario{
		{
			name: "below the default of imagefs", base: wellNode, change: disk(14),
			want: []string{"critical disk 254:0"}, says: "past hard eviction threshold imagefs.available<15%",
		},
		{
			name: "below both, the lower one first", base: wellNode, change: disk(9),
			want: []string{"critical disk 254:0"}, says: "the hard threshold nodefs.available<10% (default) is 10.0 GiB",
		},
		{name: "exactly at the threshold", base: wellNode, change: disk(15), outcome: forensics.OutcomeClean},
		{name: "inodes", base: wellNode, change: disk(50, func(d *eviction.State) { d.FileSystems[0].InodesFree = 49 }), want: []string{"critical disk 254:0"}, says: "49 inodes"},
		{
			name: "no inode left", base: wellNode, change: disk(50, func(d *eviction.State) { d.FileSystems[0].InodesFree = 0 }),
			want: []string{"critical disk 254:0"}, says: "no inodes left",
		},
		{
			name: "full although nothing guards it", base: wellNode, change: disk(0, settings(eviction.Settings{Minor: 34, EvictionHard: map[string]string{}})),
			want: []string{"critical disk 254:0"}, says: "no space left",
		},
		{
			name: "full, but only logs are there", base: wellNode, change: disk(50, func(d *eviction.State) {
				d.Places = append(d.Places, eviction.Place{Role: eviction.RoleSystemLogs, Device: "8:2"})
				d.FileSystems = append(d.FileSystems, eviction.FileSystem{Device: "8:2", MountPoint: "/var/log", CapacityBytes: gib, Inodes: 10, InodesFree: 5})
			}), want: []string{"warning disk 8:2"}, says: "(system-logs) is full",
		},
		{
			name: "past a soft threshold", base: wellNode, change: disk(20, settings(eviction.Settings{
				Minor: 34, EvictionSoft: soft, SoftGracePeriod: map[string]string{"nodefs.available": "1m30s"},
			})), want: []string{"warning disk 254:0"}, says: "grace period (1m30s)",
		},
		{
			name: "past a default that is only assumed", base: wellNode, change: disk(9, func(d *eviction.State) { d.Assumed = "/etc/kubelet.yaml could not be read" }),
			want: []string{"warning disk 254:0"},
		},
		{
			name: "above a default that is only assumed", base: wellNode, outcome: forensics.OutcomeNotChecked,
			change: disk(50, func(d *eviction.State) { d.Assumed = "/etc/kubelet.yaml could not be read" }),
		},
		{
			name: "images are at a place that is not known", base: wellNode, outcome: forensics.OutcomeNotChecked, change: func(tb testing.TB, e *forensics.Evidence) {
				disk(50, func(d *eviction.State) { d.Places = d.Places[:1] })(tb, e)
				e.Runtimes = []runtimes.Runtime{{Name: "containerd", Assumed: "/etc/containerd/config.toml could not be read"}}
			},
		},
		{
			name: "pods go at once where images are elsewhere", base: wellNode, change: disk(9, secondDisk(100)),
			want: []string{"critical disk 254:0"}, says: "deletes: 1. pods at once, because images are on another file system",
		},
		{
			name: "imagefs of its own", base: wellNode, change: disk(50, secondDisk(20)),
			want: []string{"critical disk 8:16"}, says: "deletes: 1. all terminated containers; 2. every unused image",
		},
		{name: "btrfs has no inodes to run out of", base: wellNode, change: disk(50, func(d *eviction.State) {
			d.FileSystems[0].Inodes, d.FileSystems[0].InodesFree = 0, 0
		}), outcome: forensics.OutcomeClean},
		{name: "a file system that is never writable is always full", base: wellNode, change: disk(0, func(d *eviction.State) { d.FileSystems[0].FSType = "squashfs" })},
		{name: "a mount that does not answer", base: wellNode, change: disk(0, func(d *eviction.State) {
			d.FileSystems[0] = eviction.FileSystem{Device: "254:0", Error: "not asked: the mount at / has not answered for 20 s"}
		}), outcome: forensics.OutcomeNotChecked},
		{name: "what fills it", base: wellNode, change: disk(9, fill), want: []string{"critical disk 254:0"}, says: "emptyDir volumes 40.0 GiB"},
		{name: "other users of the disk", base: wellNode, change: disk(9, func(d *eviction.State) {
			d.FileSystems[0].FreeBytes += 5 * gib
			d.Usage = []eviction.Usage{{
				Device: "254:0", UsedBytes: 86 * gib, CountedBytes: 86 * gib, Kinds: []eviction.KindSum{{Kind: eviction.KindOther, Bytes: 86 * gib, Items: 1}},
				Items: []eviction.Item{{Kind: eviction.KindOther, Path: "/home/o'hara", Bytes: 86 * gib}},
			}}
		}), want: []string{"critical disk 254:0"}, says: "5.0 GiB more are free, but reserved for root"},
		{name: "who goes first", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			disk(9, fill)(tb, e)
			e.Pods = append(e.Pods, kubelet.Pod{UID: deadUID, Namespace: "shop", Name: "cache", Source: "kubelet"})
		}, want: []string{"critical disk 254:0"}, says: "probably in this order: shop/cache (" + deadUID + ") with 40.0 GiB"},
	}
}

// TestPressureInLog is what disk-pressure can join.
func TestPressureInLog(t *testing.T) {
	e := wellNode(t)
	tells(event(logs.KindEvictionReclaiming, 40, "10:05:10", "10:12:25", logs.Subject{Reason: "ephemeral-storage"}),
		event(logs.KindAdmissionRefused, 2, "10:06:00", "10:07:00", logs.Subject{PodName: "default/new", Reason: "DiskPressure"}))(t, &e)
	disk := forensics.Check{
		ID: "disk", Title: "disk", Doc: "disk", Severity: forensics.Warning, Needs: logview.Needs,
		Run: func(p *forensics.Pass) {
			f := forensics.Finding{Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindDisk, ID: "254:0"}, Title: "full"}
			if f = withPressureInLog(p, f); f.Detail != "" {
				p.Report(f)
			}
		},
	}
	a := forensics.Analyze(&e, []forensics.Check{disk})
	if len(a.Findings) != 1 || a.Findings[0].Severity != forensics.Warning || !a.Findings[0].Since.Equal(*at("10:05:10")) ||
		!strings.Contains(a.Findings[0].Detail, "refused default/new") {
		t.Errorf("findings = %+v", a.Findings)
	}
	e.Logs.Events[0].Reason, e.Logs.Events[1].Reason = "memory", "MemoryPressure"
	if a := forensics.Analyze(&e, []forensics.Check{disk}); len(a.Findings) != 0 {
		t.Errorf("memory pressure is taken for disk pressure: %+v", a.Findings)
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
