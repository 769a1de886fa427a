package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/report"
)

const podUID = "5c948341-c030-4996-b888-f032577d97b0"

// fullDisk is a report about a disk past a threshold, counted, and one that did not answer.
func fullDisk(pad string) report.Report {
	s := eviction.Settings{Minor: 34, EvictionHard: map[string]string{"nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%" + pad}}
	e := forensics.NewEvidence()
	e.Root, e.Collected = "/", time.Date(2026, 11, 20, 10, 46, 12, 0, time.UTC)
	e.Pods = []kubelet.Pod{{UID: podUID, Namespace: "shop", Name: "cache-0", Source: "kubelet"}}
	e.Disks = &eviction.State{
		Places: []eviction.Place{
			{Role: eviction.RoleNode, Path: "/var/lib/kubelet", Device: "254:0", Why: "root directory of the kubelet"},
			{Role: eviction.RoleImage, Path: "/data/containerd", Device: "0:47", Why: "containerd"},
		},
		FileSystems: []eviction.FileSystem{
			{
				Device: "254:0", MountPoint: "/", FSType: "ext4", Source: "/dev/vda" + pad,
				CapacityBytes: 100 << 30, FreeBytes: 11 << 30, AvailableBytes: 6 << 30, Inodes: 1000, InodesFree: 700,
			},
			{Device: "0:47", MountPoint: "/data" + pad, Error: "not asked: the mount at /data has not answered for 20 s"},
		},
		Thresholds: s.Thresholds(), ImageGC: s.ImageGC(), Problems: s.Problems(), NotWalked: "/data has a server",
		Usage: []eviction.Usage{{
			Device: "254:0", Trees: []string{"/"}, UsedBytes: 89 << 30, CountedBytes: 88 << 30, UnexplainedBytes: 1 << 30, Entries: 4711,
			Kinds: []eviction.KindSum{{Kind: eviction.KindEmptyDir, Bytes: 60 << 30, Files: 9, Items: 1}, {Kind: eviction.KindVolume, Bytes: 28 << 30, Files: 2, Items: 1}},
			Items: []eviction.Item{
				{Kind: eviction.KindEmptyDir, Path: "/var/lib/kubelet/pods/" + podUID + pad, Bytes: 60 << 30, Files: 9, PodUID: podUID},
				{Kind: eviction.KindVolume, Path: "/opt/local-path-provisioner/pvc-1" + pad, Bytes: 28 << 30, Files: 2, Claim: "shop/db" + pad},
			},
		}},
	}
	return report.New(report.Tool{Name: "nodeforensics"}, e, forensics.Analysis{})
}

func TestDisksOnThePage(t *testing.T) {
	html := page(t, fullDisk(""))
	checkPage(t, html)
	_, section, _ := strings.Cut(html, `<section id="disks"`)
	section, _, _ = strings.Cut(section, "</section>")
	for _, want := range []string{
		"hard threshold crossed", "not measured", "has not answered for 20 s", // states in words
		`aria-label="89.0 GiB of 100.0 GiB used, 6.0 GiB available"`, `aria-label="300 of 1,000 inodes used"`, // text for the pictures
		"M648.0 0V38", "M684.0 0V38", // nodefs.available at 90 % and nodefs.inodesFree at 95 % of 720
		"hard nodefs.available&lt;10%", "crossed", "10.0 GiB", "-4.0 % of the size",
		"60.0 GiB", "shop/cache-0", "claim shop/db", "do not remove them as unused", "1.0 GiB (1.1 %)",
		"no threshold for imagefs.inodesFree, memory.available", "/data has a server",
	} {
		if !strings.Contains(section, want) {
			t.Errorf("%q is not on the page:\n%s", want, section)
		}
	}
	if !strings.Contains(html, `href="#disks"`) {
		t.Error("the contents do not lead to the disks")
	}
}

func TestDisksInTheText(t *testing.T) {
	out := strings.Join(strings.Fields(text(t, fullDisk(""), report.TextOptions{Verbose: true})), " ")
	for _, want := range []string{
		"/ (nodefs): hard threshold crossed, 6.0 GiB of 100.0 GiB available; nearest: hard nodefs.available<10%, -4.0 % away",
		"/data (imagefs): not measured: not asked",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in the text:\n%s", want, out)
		}
	}
}

// TestHostileDisks has names of the node everywhere, and more disks than a page has room for.
func TestHostileDisks(t *testing.T) {
	r := fullDisk(strings.Repeat("<script>\x1b[31m", 300))
	for i := range 3000 {
		f := r.Evidence.Disks.FileSystems[1]
		f.Device = fmt.Sprintf("0:%d", 100+i)
		r.Evidence.Disks.FileSystems = append(r.Evidence.Disks.FileSystems, f)
	}
	html := page(t, r)
	checkPage(t, html)
	if len(html) > maxPage || strings.Contains(body(html), "<script>\x1b") || !strings.Contains(html, "The JSON report has all of them.") {
		t.Errorf("page of %d bytes", len(html))
	}
	shown := strings.Count(html, `id="disk-`)
	if want := fmt.Sprintf("%d more are not on this page", len(r.Evidence.Disks.FileSystems)-shown); shown == 0 || !strings.Contains(html, want) {
		t.Errorf("%d disks are shown, and the page does not say %q", shown, want)
	}
	if out := text(t, r, report.TextOptions{Verbose: true}); strings.Contains(out, "\x1b") || strings.Count(out, "\n") > 500 {
		t.Errorf("terminal text has %d lines or a control character", strings.Count(out, "\n"))
	}
}

// TestReservedSpace is a fact of a file system that reserves some for root, and of no other.
func TestReservedSpace(t *testing.T) {
	for free, want := range map[uint64]bool{100 << 20: false, 150 << 20: true, 50 << 20: false} {
		e := forensics.NewEvidence()
		e.Disks = &eviction.State{FileSystems: []eviction.FileSystem{{
			Device: "254:0", MountPoint: "/", FSType: "ext4", CapacityBytes: 1 << 30, FreeBytes: free, AvailableBytes: 100 << 20,
		}}}
		var page strings.Builder
		if err := report.HTML(&page, report.Report{Evidence: e}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(page.String(), "Reserved for root"); got != want {
			t.Errorf("%d MiB free of which 100 are available: %v", free>>20, got)
		}
	}
}
