package report_test

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/report"
)

// TestHolders wants every sort of user in the section, and names of all sorts made harmless.
func TestHolders(t *testing.T) {
	const evil = "/mnt/a\x1b[31m\n<script>alert(1)</script>\xff"
	e := forensics.NewEvidence()
	e.Mounts = mounts.Table{Namespace: 1, Mounts: []mounts.Mount{
		{ID: 7, Device: "0:50", Root: "/", MountPoint: evil, FSType: "nfs4", Class: mounts.ClassNetwork, Source: "10.0.0.9:/x"},
	}}
	e.Probes = []mounts.Probe{{MountID: 7, Device: "0:50", MountPoint: evil, Call: "statx", Pending: true, Seconds: 60, Awake: 60}}
	e.Processes = []procs.Process{{PID: 4711, Comm: evil, State: "D", UID: 1000, Command: []string{"x"}, MountNS: 1}, {PID: 4800, Comm: "server", State: "T", Command: []string{}, MountNS: 1}}
	e.MountUse = &forensics.MountUse{
		Holders: []holders.Holder{
			{PID: 4711, Kind: holders.HoldFD, FD: 5, Path: evil + strings.Repeat("x", 4096), MountID: 7, Device: "0:50", Deleted: true},
			{PID: 4711, TID: 4712, Kind: holders.HoldCwd, FD: -1, Path: "/", MountID: 7, Device: "0:50", ByPath: true},
			{PID: 4711, Kind: holders.HoldFD, FD: 6, Path: "/gone", MountID: 99, Detached: true},
			{PID: 4711, Kind: holders.HoldCwd, FD: -1, Path: "/tied", MountID: 71},
		},
		Copies:  []mounts.Copy{{Of: 7, OnGroup: 1, Groups: []int{1}, MountID: 71, MountPoint: "/tied" + evil, Namespace: 8}},
		Kernel:  []holders.KernelUser{{MountID: 7, Device: "0:50", Use: holders.UseLoop, What: "/dev/loop3", Blocks: true}},
		Foreign: []forensics.ForeignMount{{Namespace: 8, Mount: mounts.Mount{ID: 70, Device: "8:16", MountPoint: "/copy", FSType: "ext4", Class: mounts.ClassBlock, Source: "/dev/sdb"}}},
		FUSE:    forensics.FUSEUse{Superblocks: []string{"0:50"}, Devices: []holders.FUSEDevice{{PID: 4800, FD: 3, Connection: 50}}}, AllProcesses: true,
		Namespaces: []holders.NamespaceHold{}, Deleted: []holders.DeletedFile{},
		Pinned: []forensics.PinnedNamespace{{Namespace: 8, MountPoint: "/run/snapd/ns/x.mnt"}}, Users: []forensics.User{{UID: 1000, Name: "vicky"}},
	}
	html := page(t, report.Report{Evidence: e})
	_, section, _ := strings.Cut(html, `<section id="holders"`)
	section, _, _ = strings.Cut(section, "</section>")
	for _, want := range []string{
		"fd 5, deleted", "cwd of thread 4712, mount known by path only", "vicky", "1 kernel use", "loop /dev/loop3",
		"mount 71 at /tied", "also keeps it busy", "mount 99, in no mount table (detached): 1 process", "served by process 4800, which is stopped (SIGSTOP)",
		"only in mount namespace 8", "mounted at /run/snapd/ns/x.mnt", "&lt;script&gt;",
	} {
		if !strings.Contains(section, want) {
			t.Errorf("the section does not say %q", want)
		}
	}
	for _, bad := range []string{"\x1b", "<script>alert", "\xff", strings.Repeat("x", 2000)} {
		if strings.Contains(section, bad) {
			t.Errorf("the section holds %.20q", bad)
		}
	}
	if strings.Contains(page(t, report.Report{Evidence: forensics.NewEvidence()}), "No use of a relevant mount") {
		t.Error("without having looked, it says that nothing holds a mount")
	}
}
