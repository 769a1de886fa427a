package backing

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// recorded reads a file of testdata.
func recorded(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tree makes a host with some files; a text that begins with "->" is a symbolic link.
func tree(t testing.TB, files map[string]string) *hostfs.FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(target, name)
		} else {
			err = os.WriteFile(name, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fsys, err := hostfs.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	return fsys
}

const nfsPoint4 = "/var/lib/kubelet/pods/5c948341-c030-4996-b888-f032577d97b0/volumes/kubernetes.io~nfs/with space"

func TestBackingsOfServers(t *testing.T) {
	nfs := mounts.Mount{
		ID: 1, Device: "0:50", MountPoint: nfsPoint4, FSType: "nfs4", Class: mounts.ClassNetwork, Source: "10.0.0.9:/export/data",
		SuperOptions: "rw,vers=4.2,hard,proto=tcp,timeo=600,retrans=2,addr=10.0.0.9",
	}
	soft := mounts.Mount{
		ID: 2, Device: "0:51", MountPoint: "/mnt/v3", FSType: "nfs", Class: mounts.ClassNetwork, Source: "10.0.0.8:/v3",
		SuperOptions: "rw,vers=3,soft,proto=udp,timeo=11,retrans=3,addr=10.0.0.8",
	}
	local := mounts.Mount{
		ID: 3, Device: "0:52", MountPoint: "/mnt/local", FSType: "nfs4", Class: mounts.ClassNetwork, Source: "[fe80::2%eth0]:/export",
		SuperOptions: "rw,vers=4.2,hard,proto=tcp6,timeo=600,retrans=2,addr=fe80::2%2",
	}
	const unacknowledged = "   0: 000080FE000000000000000001000000:03FF 000080FE000000000000000002000000:0801 01 000000D8:00000000 01:00000014 00000009 0 0 1\n"
	ceph := mounts.Mount{ID: 5, Device: "0:54", MountPoint: "/mnt/ceph", FSType: "ceph", Class: mounts.ClassNetwork, Source: "10.0.0.5:6789:/k8s"}
	const client = "/sys/kernel/debug/ceph/7a1f.client4242/"
	files := map[string]string{
		"/proc/self/mountstats": recorded(t, "mountstats"), "/proc/self/net/tcp": recorded(t, "tcp"), "/proc/self/net/tcp6": "  sl  local_address\n",
		client + "mdsc": recorded(t, "mdsc"), client + "osdc": recorded(t, "osdc"),
		client + "monc":         "have monmap 3 want 0+\nhave osdmap 55 want 56+\nfs_cluster_id 1\n8 statfs\n",
		client + "mds_sessions": "global_id 4242\nname \"k8s\"\nmds.0 open\nmds.1 hung\n",
		client + "status":       "instance: client.4242 (3)10.0.0.2:0/77\nblocklisted: false\n", "/sys/kernel/debug/ceph/meta/x": "",
	}
	type want struct {
		fault Fault
		says  string
	}
	for name, c := range map[string]struct {
		mount  mounts.Mount
		change map[string]string
		want   want
	}{
		"nfs: the host does not acknowledge": {nfs, nil, want{FaultUnreachable, "216 bytes to 10.0.0.9:2049 are not acknowledged after 9 retransmissions"}},
		"nfs: hard":                          {nfs, nil, want{FaultUnreachable, "the mount is hard"}},
		"nfs: the service is silent": {nfs, map[string]string{"/proc/self/net/tcp": strings.NewReplacer(
			"000000D8", "00000000", "00000009 ", "00000000 ").Replace(recorded(t, "tcp"))}, want{FaultSilent, "acknowledges data, but its service does not respond"}},
		"nfs: nothing listens": {nfs, map[string]string{"/proc/self/net/tcp": strings.ReplaceAll(recorded(t, "tcp"), "0801 01", "0801 07")}, want{
			FaultLost, "no connection to 10.0.0.9:2049 is open",
		}},
		"nfs: an address of the link": {local, map[string]string{"/proc/self/net/tcp6": unacknowledged}, want{
			FaultUnreachable, "216 bytes to [fe80::2]:2049 are not acknowledged",
		}},
		"nfs: soft, over UDP":      {soft, nil, want{FaultSilent, "callers get an error after 8.8 s or later"}},
		"ceph: a session is hung":  {ceph, nil, want{FaultRejected, "the session with mds.1 is hung"}},
		"ceph: blocklisted":        {ceph, map[string]string{client + "status": "blocklisted: true\n"}, want{FaultBlocklisted, "thrown"}},
		"ceph: no storage daemon":  {ceph, map[string]string{client + "mds_sessions": "mds.0 open\n"}, want{FaultSilent, "no storage daemon (OSD) is up for 1 request"}},
		"ceph: metadata only":      {ceph, map[string]string{client + "mds_sessions": "", client + "osdc": "REQUESTS 0 homeless 0\n"}, want{FaultSilent, "have no open request: 73 mds0 getattr #10000000000"}},
		"ceph: old kernel, osds":   {ceph, map[string]string{client + "mds_sessions": "", client + "mdsc": "", client + "osdc": "118 osd3 2.7b 1.0 write\n"}, want{FaultSilent, "storage daemons (OSD) do not respond, metadata servers have no open request"}},
		"ceph: requests that stay": {ceph, map[string]string{client + "mds_sessions": "", client + "mdsc": "", client + "monc": "", client + "osdc": "REQUESTS 0 homeless 0\nLINGER REQUESTS\n18446462598732840961 osd3 2.7b watch\nBACKOFFS\n7 osd1 2.7b\n"}, want{}}, // watches and backoffs
		"ceph: nothing is waiting": {ceph, map[string]string{client + "mds_sessions": "", client + "mdsc": "", client + "osdc": "", client + "monc": ""}, want{}},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{}
			for _, more := range []map[string]string{files, c.change} {
				for name, text := range more {
					all[name] = text
				}
			}
			list, errs := Read(t.Context(), tree(t, all), &mounts.Table{Mounts: []mounts.Mount{c.mount}}, nil)
			if len(list) != 1 || len(errs) > 0 {
				t.Fatalf("backings %+v, errors %v", list, errs)
			}
			says := c.want.says
			if c.want.fault == FaultBlocklisted {
				says = "blocklisted this client"
			}
			if b := list[0]; b.Fault != c.want.fault || !strings.Contains(b.Why, says) || b.Device != c.mount.Device {
				t.Errorf("fault %q, %q; want %q, %q", b.Fault, b.Why, c.want.fault, says)
			}
		})
	}
}

func TestParseMountStats(t *testing.T) {
	want := []NFSState{
		{MountPoint: nfsPoint4, LocalPorts: []int{771, 823}, AgeSeconds: 93412, Sent: 31164, Received: 31157, IdleSeconds: 87, Connects: 4, Timeouts: 7, Errors: 1},
		{MountPoint: "/mnt/v3", LocalPorts: []int{}, AgeSeconds: 60, Sent: 12, Received: 9},
	}
	if diff := cmp.Diff(want, parseMountStats([]byte(recorded(t, "mountstats")))); diff != "" {
		t.Errorf("mount statistics (-want +got):\n%s", diff)
	}
}

func TestParseCIFS(t *testing.T) {
	const reconnecting = "linux-6.1-cifs-server-stopped-reconnecting"
	want := []CIFSState{
		{Share: `\\10.99.0.9\data`, Dialect: "1.0", Outstanding: 1},
		{Share: `\\10.99.0.9\data`, Dialect: "2.1", Outstanding: 1},
		{Share: `\\10.99.0.9\team data`, Dialect: "3.1.1", Outstanding: 1},
		{Share: `\\10.99.0.9\data`, Dialect: "3.1.1", Outstanding: 1},
	}
	if diff := cmp.Diff(want, parseCIFS([]byte(recording(t, reconnecting)["/proc/fs/cifs/DebugData"]))); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
	const old = "Servers:\n1) Name: 10.0.0.9  Domain: W Uses: 1 OS: Windows\n\tNOS: X\tCapability: 0x8000e3fd\n\tSMB session status: 1 TCP status: 1\n" +
		"\tLocal Users To Server: 1 SecMode: 0x3 Req On Wire: 4\n\tShares:\n\t1) \\\\10.0.0.9\\s Mounts: 1 Type: NTFS DevInfo: 0x20\n"
	if got := parseCIFS([]byte(old)); len(got) != 1 || got[0] != (CIFSState{Share: `\\10.0.0.9\s`, Connected: true, Outstanding: 4}) {
		t.Errorf("the form before 5.3: %+v", got)
	}
}

func TestParseTCP(t *testing.T) {
	got := parseTCP([]byte(recorded(t, "tcp")))
	want := []Connection{
		{"10.0.0.9:2049", "established", 216, 9, 771}, {"10.0.0.8:2049", "established", 0, 0, 772}, {"10.0.0.7:445", "syn-sent", 1, 5, 773},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("connections (-want +got):\n%s", diff)
	}
	const six = "   0: 0000000000000000FFFF00000200000A:0303 0000000000000000FFFF00000900000A:0801 01 00000000:00000000 00:00000000 00000000 0 0 1\n" +
		"   1: B80D0120000000000000000001000000:0303 B80D0120000000000000000002000000:0801 01 00000000:00000000 00:00000000 00000000 0 0 1\n"
	got = parseTCP([]byte(six))
	if len(got) != 2 || got[0].Remote != "10.0.0.9:2049" || got[1].Remote != "[2001:db8::2]:2049" {
		t.Errorf("IPv6: %+v", got)
	}
}

func TestBackingsOfDisks(t *testing.T) {
	paths := map[string]string{
		"/sys/devices/pci/block/sdb/device/state": "offline\n",
		"/sys/dev/block/8:17":                     "->../../devices/pci/block/sdb/sdb1", "/sys/devices/pci/block/sdb/sdb1/partition": "1\n",
		"/sys/devices/pci/block/sdb/sdb1/inflight": "1 0\n",
		// multipathd has taken away all paths
		"/sys/dev/block/253:3": "->../../devices/virtual/block/dm-3", "/sys/devices/virtual/block/dm-3/dm/uuid": "mpath-3600a0b80\n",
	}
	with := func(name, text string) map[string]string {
		changed := map[string]string{name: text}
		for n, text := range paths {
			if n != name {
				changed[n] = text
			}
		}
		return changed
	}
	for name, c := range map[string]struct {
		device string
		files  map[string]string
		fault  Fault
		says   string
	}{
		"no path is known":           {"253:3", paths, FaultNoPath, "lost all its 0 paths"},
		"suspended":                  {"253:3", with("/sys/devices/virtual/block/dm-3/dm/suspended", "1\n"), FaultSuspended, "suspended"},
		"a partition of a lost disk": {"8:17", paths, FaultOffline, "sdb1 is offline"},
		"nothing is wrong":           {"8:17", with("/sys/devices/pci/block/sdb/device/state", "running\n"), FaultBusy, "1 request in flight"},
	} {
		t.Run(name, func(t *testing.T) {
			table := mounts.Table{Mounts: []mounts.Mount{{ID: 1, Device: c.device, Class: mounts.ClassBlock, FSType: "ext4"}, {ID: 2, Device: "9:9", Class: mounts.ClassBlock, FSType: "xfs"}}}
			list, errs := Read(t.Context(), tree(t, c.files), &table, nil)
			if len(list) != 1 || len(errs) > 0 || list[0].Fault != c.fault || !strings.Contains(list[0].Why, c.says) {
				t.Errorf("%+v, errors %v; want %q, %q", list, errs, c.fault, c.says)
			}
		})
	}
}

// TestBackingsHere reads this machine's own: whatever it has, nothing is wrong with reading it.
func TestBackingsHere(t *testing.T) {
	fsys, err := hostfs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	table, err := mountslive.Read(t.Context(), fsys, 0)
	if err != nil {
		t.Fatal(err)
	}
	list, errs := Read(t.Context(), fsys, &table, func(m *mounts.Mount) bool { return m.Class == mounts.ClassBlock })
	for _, b := range list {
		if len(b.Disks) == 0 || b.Disks[0].Name == "" || b.Fault == FaultOffline {
			t.Errorf("%+v", b)
		}
	}
	if len(errs) > 0 {
		t.Error(errs)
	}
}

// oneOfEach is the first line for each word that lines of a text begin with, 400 bytes at most.
func oneOfEach(text string) []byte {
	var kept []byte
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !seen[word] && len(kept)+len(line) <= 400 {
			kept = append(kept, line...)
		}
		seen[word] = true
	}
	return kept
}

func FuzzBackings(f *testing.F) {
	// Seeds are short: the fuzzer makes what is interesting shorter byte by byte, which can take longer than the run.
	for _, name := range []string{"mountstats", "tcp", "mdsc", "osdc"} {
		f.Add(oneOfEach(recorded(f, name)))
	}
	for _, name := range []string{"cifs-server-stopped", "ceph-osd-stopped"} {
		for _, text := range recording(f, "linux-6.1-"+name) {
			f.Add(oneOfEach(text))
		}
	}
	for _, text := range recordedHost(f, "linux-6.1-refused") {
		f.Add(oneOfEach(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range parseMountStats(text) {
			if s.Late < 0 || s.Sent < 0 {
				t.Errorf("%+v", s)
			}
		}
		for _, s := range parseCIFS(text) {
			if s.Share == "" || s.Outstanding < 0 {
				t.Errorf("%+v", s)
			}
		}
		if got := neighbour(text, netip.MustParseAddr("10.9.0.2")); got != "" && !bytes.Contains(text, []byte("10.9.0.2")) {
			t.Errorf("neighbour %q", got)
		}
		if c, ok := parseTransport(text); ok && (c.server == "" || c.transport == "") {
			t.Errorf("%+v", c)
		}
		var client rpcClient
		if client.tasks(text); client != (rpcClient{}) && !bytes.Contains(text, []byte(" nfsv")) {
			t.Errorf("%+v", client)
		}
		for _, c := range parseTCP(text) {
			if c.Remote == "" || c.Retransmits < 0 {
				t.Errorf("%+v", c)
			}
		}
		var c cephClient
		for _, parse := range []func([]byte){c.mdsc, c.osdc, c.monc, c.sessions, c.status, c.monmap, c.addresses} {
			parse(text)
		}
		if fault, why := c.fault(); (fault == FaultNone) != (why == "") {
			t.Errorf("%q %q", fault, why)
		}
	})
}

// Who owes answers says which daemons of a Ceph cluster to look at.
func TestCephFault(t *testing.T) {
	for want, c := range map[string]CephState{
		"": {},
		"no storage daemon (OSD) is up for 2 requests":                                                       {Homeless: 2, OSDRequests: 2},
		"metadata servers (MDS) do not respond, storage daemons have no open request: getattr 7 s":           {MDSRequests: 1, Oldest: "getattr 7 s"},
		"storage daemons (OSD) do not respond, metadata servers have no open request":                        {OSDRequests: 1},
		"neither metadata servers nor storage daemons respond":                                               {MDSRequests: 1, OSDRequests: 1},
		"metadata servers (MDS) have answered, but their changes are not yet written to storage: create 9 s": {MDSRequests: 1, Unsafe: 1, Oldest: "create 9 s"},
		"monitors do not respond, other daemons have no open request":                                        {MonitorRequests: 1},
	} {
		fault, why := c.fault()
		if wantFault := map[bool]Fault{true: FaultNone, false: FaultSilent}[want == ""]; fault != wantFault || why != want {
			t.Errorf("%+v: %q, %q; want %q", c, fault, why, want)
		}
	}
}
