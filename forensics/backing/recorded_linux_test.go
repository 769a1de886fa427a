package backing

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// recording reads what a real kernel said in one state (testdata/README.md): "== PATH" and its text, or a link on the same
// line ("== PATH ->TARGET").
func recording(t testing.TB, name string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for part := range strings.SplitSeq("\n"+recorded(t, name), "\n== ") {
		heading, text, _ := strings.Cut(part, "\n")
		file, link, isLink := strings.Cut(heading, " ")
		if isLink {
			text = link
		}
		if file != "" {
			files[file] = text + "\n"
		}
		if isLink {
			files[file] = link
		}
	}
	return files
}

// TestBackingsRecorded has the texts of a real kernel and what was true when they were recorded.
func TestBackingsRecorded(t *testing.T) {
	type want struct {
		point string
		fault Fault
		says  string
	}
	for name, wants := range map[string][]want{
		// Samba's processes were well, then stopped (SIGSTOP) for 20 and for 220 s, then well and their host did not
		// receive anything for 20 and for 200 s, then they were killed.
		"cifs-healthy": {{"/mnt/c311", "", ""}, {"/mnt/csub", "", ""}, {"/mnt/c21", "", ""}, {"/mnt/c10", "", ""}},
		"cifs-server-stopped": {
			{"/mnt/c311", FaultSilent, "acknowledges data, but its service does not respond; 12 requests"},
			{"/mnt/csub", FaultSilent, "12 requests"},
			{"/mnt/c21", FaultSilent, "6 requests"},
			{"/mnt/c10", FaultSilent, "2 requests"},
		},
		"cifs-server-stopped-reconnecting": {{"/mnt/c311", FaultSilent, "; 1 request in flight"}, {"/mnt/c10", FaultSilent, "; 1 request in flight"}},
		"cifs-packets-dropped":             {{"/mnt/c311", FaultUnreachable, "696 bytes to 10.99.0.9:445 are not acknowledged after 6 retransmissions"}},
		"cifs-packets-dropped-reconnecting": {
			{"/mnt/c311", FaultUnreachable, "the client tries to connect to 10.99.0.9:445 and gets no answer"},
			{"/mnt/c10", FaultUnreachable, "the client tries to connect"},
		},
		"cifs-server-killed": {{"/mnt/c311", FaultLost, "has lost its connection"}, {"/mnt/c10", FaultLost, "has lost its connection"}},

		// One monitor, one metadata server, one storage daemon; two mounts of the same file system.
		"ceph-healthy": {{"/mnt/ceph", "", ""}, {"/mnt/ceph2", "", ""}},
		"ceph-mds-stopped": {
			{"/mnt/ceph", FaultSilent, "(MDS) do not respond, storage daemons have no open request: 17 mds0 mkdir #10000000000/newdir (vol1/newdir); the host of 10.99.0.9:6809 acknowledges"},
			{"/mnt/ceph2", FaultSilent, "read from one of 2 clients of this cluster"},
		},
		"ceph-mds-killed":      {{"/mnt/ceph", FaultLost, "there is no connection to mds0 at 10.99.0.9:6809: the service or its host is down"}},
		"ceph-osd-stopped":     {{"/mnt/ceph", FaultSilent, "storage daemons (OSD) do not respond, metadata servers have no open request; the host of 10.99.0.9:6801 acknowledges"}},
		"ceph-osd-down":        {{"/mnt/ceph", FaultSilent, "no storage daemon (OSD) is up for 2 requests; 3 requests in flight; read"}},
		"ceph-packets-dropped": {{"/mnt/ceph", FaultUnreachable, "the host or the network is down"}},
		"ceph-mon-stopped":     {{"/mnt/ceph", FaultSilent, "monitors do not respond, other daemons have no open request; the host of 10.99.0.9:6789 acknowledges"}},
		"ceph-blocklisted":     {{"/mnt/ceph", FaultBlocklisted, "blocklisted this client: unmount and mount again, unless recover_session=clean is set; read from one of 2 clients"}},

		// A mapped image on the same, beside two mounts.
		"rbd-osd-stopped": {{"/mnt/rbd", FaultSilent, "storage daemons (OSD) do not respond, metadata servers have no open request; the host of 10.99.0.9:6801 acknowledges"}},

		// Disks of scsi_debug: one that takes 1,000 s for every request, and after the kernel had given it up; two paths to
		// one, below multipath and LVM, with a file system in a file of the one on it.
		"scsi-slow":          {{"/mnt/sda", FaultBusy, "2 requests in flight to sda"}},
		"scsi-offline":       {{"/mnt/sda", FaultOffline, "sda is offline"}},
		"multipath-healthy":  {{"/mnt/mp", "", ""}, {"/mnt/lp", "", ""}},
		"multipath-one-path": {{"/mnt/mp", "", ""}, {"/mnt/lp", "", ""}},
		"multipath-no-path": {
			{"/mnt/mp", FaultNoPath, "multipath device dm-0 has lost all its 2 paths"},
			{"/mnt/lp", FaultNoPath, "below dm-1, below loop0"},
		},
		"dm-suspended": {{"/mnt/sus", FaultSuspended, "dm-0 (device-mapper) is suspended"}},
		// An iSCSI disk whose target's host did not receive anything for 25 s, and for longer than replacement_timeout.
		"iscsi-blocked": {{
			"/mnt/isc", FaultOffline,
			"sdb is blocked: requests wait until its transport (iSCSI, Fibre Channel) is back or gives up; the iSCSI session with iqn.2026-11.test:disk at 10.99.0.9 is FAILED",
		}},
		"iscsi-lost": {{"/mnt/isc", FaultOffline, "sdb is transport-offline; the iSCSI session with iqn.2026-11.test:disk at 10.99.0.9 is FREE"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := recording(t, "linux-6.1-"+name)
			list, errs := mounts.Parse(strings.NewReader(files["/proc/self/mountinfo"]))
			if len(list) == 0 || len(errs) > 0 {
				t.Fatalf("mounts %v, errors %v", list, errs)
			}
			table := mounts.Table{Mounts: list}
			found, errs := Read(t.Context(), tree(t, files), &table, nil)
			if len(errs) > 0 {
				t.Error(errs)
			}
			for _, b := range found {
				if strings.HasSuffix(name, "-healthy") && b.Fault != FaultNone {
					t.Errorf("%+v; nothing was wrong", b)
				}
			}
			for _, w := range wants {
				m, _ := table.Index().Covering(w.point)
				var b Backing
				for _, f := range found {
					if f.Device == m.Device {
						b = f
					}
				}
				if b.Device == "" || b.Fault != w.fault || !strings.Contains(b.Why, w.says) || w.fault == "" && b.Why != "" {
					t.Errorf("%s: fault %q, %q; want %q, %q; found %+v", w.point, b.Fault, b.Why, w.fault, w.says, found)
				}
			}
		})
	}
}
