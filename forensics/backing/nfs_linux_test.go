package backing

import (
	"os"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// recordedHost reads the files of a host from one of testdata/nfs: "==> /path <==" before each. README.md there says
// where they come from.
func recordedHost(t testing.TB, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/nfs/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for part := range strings.SplitSeq(string(text), "==> ") {
		if path, content, ok := strings.Cut(part, " <==\n"); ok {
			files[path] = content
		}
	}
	if len(files) < 8 {
		t.Fatalf("%s has %d files", name, len(files))
	}
	return files
}

// TestBackingsOfRecordedNFS judges what real kernels showed while a server was beyond reach, had come back, did not
// answer, and refused connections.
func TestBackingsOfRecordedNFS(t *testing.T) {
	type want struct {
		fault Fault
		least int64 // requests that wait; the state of a version 4 lease is renewed at any time
		says  string
	}
	for name, mounted := range map[string]map[string]want{
		"unreachable": {
			"/mnt/v4": {FaultUnreachable, 7, " to 10.9.0.2:2049 "}, "/mnt/v3": {FaultUnreachable, 4, "the mount is hard"},
			"/mnt/soft": {FaultUnreachable, 7, "the mount is soft: callers get an error after 15 s or later"},
		},
		"recovered": {"/mnt/v4": {}, "/mnt/v3": {}, "/mnt/soft": {}},
		"silent": {
			"/mnt/v4": {FaultSilent, 2, "the host of 10.9.0.2:2049 acknowledges data, but its service does not respond; "},
			"/mnt/v3": {FaultSilent, 1, "its service does not respond; 1 request waits"},
		},
		"refused": {
			"/mnt/v4": {FaultRefused, 3, "no connection to 10.9.0.2:2049 is open, but its host answers ARP: no service listens"},
			"/mnt/v3": {FaultRefused, 1, "no service listens; 1 request waits"},
		},
	} {
		for _, kernel := range []string{"linux-5.10", "linux-6.1", "linux-6.12"} {
			t.Run(kernel+" "+name, func(t *testing.T) {
				files := recordedHost(t, kernel+"-"+name)
				table, err := mounts.Parse(strings.NewReader(files["/proc/self/mountinfo"]))
				if err != nil {
					t.Fatal(err)
				}
				list, errs := Read(t.Context(), tree(t, files), &mounts.Table{Mounts: table}, nil)
				if len(list) != 3 || len(errs) > 0 {
					t.Fatalf("%d backings, errors %v", len(list), errs)
				}
				for _, b := range list {
					want, ok := mounted[b.NFS.MountPoint]
					if !ok {
						continue
					}
					if b.NFS.Outstanding == nil {
						t.Fatalf("%s: requests were not counted", b.NFS.MountPoint)
					}
					if n := *b.NFS.Outstanding; b.Fault != want.fault || n < want.least || want.least == 0 && n > 0 || !strings.Contains(b.Why, want.says) {
						t.Errorf("%s: %q, %d requests, %q; want %+v", b.NFS.MountPoint, b.Fault, n, b.Why, want)
					}
					if b.Answered(); b.Fault != want.fault && b.Fault != FaultNone || b.Fault == FaultSilent {
						t.Errorf("%s has answered, and still is %q", b.NFS.MountPoint, b.Fault)
					}
				}
			})
		}
	}
}

// TestConnectionsOfOneMount has two mounts of one server, of which only version 3 tells its port.
func TestConnectionsOfOneMount(t *testing.T) {
	stats := []NFSState{{LocalPorts: []int{676}}, {LocalPorts: []int{}}}
	b := backings{stats: func() []NFSState { return stats }}
	list := []Connection{{LocalPort: 676}, {LocalPort: 827}}
	for i, want := range []int{676, 827} {
		if got := b.ownConnections(&stats[i], list); len(got) != 1 || got[0].LocalPort != want {
			t.Errorf("mount %d has %+v, want the connection from port %d", i, got, want)
		}
	}
}
