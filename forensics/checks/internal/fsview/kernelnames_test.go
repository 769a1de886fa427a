package fsview

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// TestServerNamed and TestWholeDisk hold what joins the kernel's words to mounts.
func TestServerNamed(t *testing.T) {
	for _, tt := range []struct {
		source, server string
		want           bool
	}{
		{"10.0.0.5:/export", "10.0.0.5", true},
		{"10.0.0.5:6789,10.0.0.6:6789:/k8s", "10.0.0.6:6789", true},
		{"10.0.0.5:6789:/k8s", "10.0.0.55", false},
		{"[fd00::1]:/export", "fd00::1", true},
		{`//files.example/share`, `\\files.example\share`, false},
		{`//files.example/share`, `\\files.example`, true},
		{"tmpfs", "", false},
	} {
		if got := serverNamed(tt.source, tt.server); got != tt.want {
			t.Errorf("serverNamed(%q, %q) = %v", tt.source, tt.server, got)
		}
	}
}

func TestWholeDisk(t *testing.T) {
	for device, want := range map[string]string{
		"sda1": "sda", "sda": "sda", "vda": "vda", "nvme0n1p2": "nvme0n1", "nvme0n1": "nvme0n1", "mmcblk0p1": "mmcblk0", "dm-3": "dm-3", "": "",
	} {
		if got := wholeDisk(device); got != want {
			t.Errorf("wholeDisk(%q) = %q; want %q", device, got, want)
		}
	}
	mds := logs.Event{Kind: logs.KindKernelCephDown, Subject: logs.Subject{Server: "mds0"}}
	model := forensics.NewModel(&forensics.Evidence{Backings: []backing.Backing{{Device: "253:1", Disks: []backing.DiskState{{Name: "dm-1"}, {Name: "sdb", For: "dm-1"}}}}})
	if !aboutMount(model, mds, mounts.Mount{FSType: "ceph", Source: "10.0.0.5:6789:/"}) || aboutMount(model, mds, mounts.Mount{FSType: "nfs4", Source: "10.0.0.5:/"}) {
		t.Error("a metadata server is joined to other than CephFS mounts, or not to them")
	}
	if !aboutMount(model, logs.Event{Subject: logs.Subject{Device: "nvme0"}}, mounts.Mount{Class: mounts.ClassBlock, Source: "/dev/nvme0n1p2"}) {
		t.Error("a controller is not joined to its disk")
	}
	for device, want := range map[string]bool{"sdb": true, "253:1": true, "sdc": false} {
		m := mounts.Mount{Device: "253:1", Class: mounts.ClassBlock, Source: "/dev/mapper/vg0-data"}
		if got := aboutMount(model, logs.Event{Subject: logs.Subject{Device: device}}, m); got != want {
			t.Errorf("a message about %s is joined to what is on it: %v", device, got)
		}
	}
}
