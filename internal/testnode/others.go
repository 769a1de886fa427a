package testnode

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

func otherKinds() []Kind {
	return []Kind{
		{"disks", func(e *forensics.Evidence, n int) {
			for i := range n {
				d := device(40_000_000 + i)
				e.Disks.Places = append(e.Disks.Places, eviction.Place{Role: eviction.RolePodLogs, Path: fmt.Sprintf("/disk/%d", i), Device: d})
				e.Disks.FileSystems = append(e.Disks.FileSystems, eviction.FileSystem{Device: d, MountPoint: fmt.Sprintf("/disk/%d", i), CapacityBytes: 1 << 40, AvailableBytes: 1 << 20})
				e.Disks.Usage = append(e.Disks.Usage, eviction.Usage{Device: d})
			}
		}},
		{"thresholds", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Disks.Thresholds = append(e.Disks.Thresholds, eviction.Threshold{Signal: "nodefs.available", Kind: "soft", Value: "15%", Percent: float64(5 + i%30), Origin: "flag"})
				e.Disks.Problems = append(e.Disks.Problems, eviction.Problem{})
			}
		}},
		{"disks with a threshold each", func(e *forensics.Evidence, n int) {
			for i := range n {
				role, d := fmt.Sprintf("fs%d", i), device(41_000_000+i)
				e.Disks.Places = append(e.Disks.Places, eviction.Place{Role: role, Path: "/" + role, Device: d})
				e.Disks.FileSystems = append(e.Disks.FileSystems, eviction.FileSystem{Device: d, MountPoint: "/" + role, CapacityBytes: 1 << 40, AvailableBytes: 130 << 30})
				e.Disks.Thresholds = append(e.Disks.Thresholds, eviction.Threshold{Signal: role + ".available", Kind: "hard", Value: "10%", Percent: 10, Origin: "flag"})
			}
		}},
		{"full disks", fullDisks},
		{"users of a disk", func(e *forensics.Evidence, n int) {
			u := eviction.Usage{Device: "8:1", UsedBytes: 96 << 30, CountedBytes: 96 << 30}
			for i := range n {
				u.Items = append(u.Items, eviction.Item{Kind: fmt.Sprintf("kind%d", i%9), Path: podsDir + UID(i), Bytes: int64(n - i), PodUID: UID(i), ContainerID: hex64(i)})
				u.Kinds = append(u.Kinds, eviction.KindSum{Kind: fmt.Sprintf("kind%d", i), Bytes: int64(n - i)})
			}
			e.Disks.Usage = append(e.Disks.Usage, u)
		}},
		{"coverage entries", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Coverage = append(e.Coverage, forensics.Source{Source: fmt.Sprintf("logs:/var/log/%d.log", i), Status: forensics.SourceDenied, Detail: "permission denied"})
			}
		}},
		{"redactions", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Redactions = append(e.Redactions, redact.LedgerEntry{Where: fmt.Sprintf("place %d", i), Rule: "assignment", Count: 1})
			}
		}},
		{"calls that did not return", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Collector.Outstanding = append(e.Collector.Outstanding, forensics.Blocked{Key: fmt.Sprintf("mount %d", i), TID: i, Seconds: 15})
			}
		}},
		{"what the kubelet says of itself", func(e *forensics.Evidence, n int) {
			for i := range n {
				e.Kubelet.Flags[fmt.Sprintf("flag-%d", i)] = "true"
				e.Kubelet.Metrics[fmt.Sprintf("metric{n=\"%d\"}", i)] = 1
				e.Kubelet.Endpoints = append(e.Kubelet.Endpoints, kubelet.Endpoint{URL: fmt.Sprintf("https://127.0.0.1:10250/%d", i), Status: "timeout"})
				e.Kubelet.Sources = append(e.Kubelet.Sources, kubelet.Source{Path: fmt.Sprintf("/etc/kubelet/%d", i), Status: "denied"})
				e.Kubelet.Others = append(e.Kubelet.Others, 5000+i)
			}
		}},
	}
}

// fullDisks are written to by the kubelet, with pods, images and ended containers that could be deleted for each, and a log
// that says so.
func fullDisks(e *forensics.Evidence, n int) {
	pods(e, n, "kubelet")
	tasks(e, n, nil)
	for i := range n {
		d := device(42_000_000 + i)
		e.Disks.Places = append(e.Disks.Places, eviction.Place{Role: eviction.RoleImage, Path: fmt.Sprintf("/full/%d", i), Device: d})
		e.Disks.FileSystems = append(e.Disks.FileSystems, eviction.FileSystem{Device: d, MountPoint: fmt.Sprintf("/full/%d", i), CapacityBytes: 1 << 40})
		e.Disks.Usage = append(e.Disks.Usage, eviction.Usage{Device: d, UsedBytes: 1 << 40, Items: []eviction.Item{{Kind: eviction.KindEmptyDir, PodUID: UID(i), Bytes: 1 << 30}}})
		e.Images = append(e.Images, runtimes.Image{Runtime: "containerd", Root: "/var/lib/containerd", ID: "sha256:" + hex64(600_000_000+i), Containers: []string{}})
		e.Logs.Events = append(e.Logs.Events, logs.Event{Kind: logs.KindEvictionMustEvict, Origin: "kubelet", Count: 1, First: at(i), Last: at(i), Quotes: []logs.Quote{quote(i)}, Subject: logs.Subject{Reason: fmt.Sprintf("fs%d.available", i)}})
	}
}
