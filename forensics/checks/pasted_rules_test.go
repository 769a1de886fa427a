package checks

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// judgePasted judges one pasted text.
func judgePasted(t *testing.T, text string) forensics.Analysis {
	t.Helper()
	saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f := read.FSFile(fstest.MapFS{"paste.txt": {Data: []byte(text), ModTime: saved}}, "paste.txt")
	nodes, _ := read.Files(t.Context(), read.Options{Now: saved}, f)
	return forensics.Analyze(&nodes[0], All())
}

// TestRulesOfPastedEvidence has what was once judged wrongly, by the rules that came of it.
func TestRulesOfPastedEvidence(t *testing.T) {
	const shim = `Nov 20 08:30:01 w1 containerd[900]: time="2026-11-20T08:30:01Z" level=info msg="`
	const docker = "rpc error: code = Unknown desc = Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
	for _, tt := range []struct {
		name, text string
		has, not   []string // parts of the findings, of any severity
	}{
		{"2: a server is back by the order of lines without times", "[ 10.1] nfs: server 192.0.2.4 not responding, still trying\n[ 16.2] nfs: server 192.0.2.4 OK\n", nil, []string{"kernel-server-unresponsive"}},
		{"2: a server that is gone again", "[ 10.1] nfs: server 192.0.2.4 OK\n[ 16.2] nfs: server 192.0.2.4 not responding, still trying\n", []string{"kernel-server-unresponsive"}, nil},
		{"2: another server is back", "[ 10.1] nfs: server 192.0.2.4 not responding, still trying\n[ 16.2] nfs: server 192.0.2.5 OK\n", []string{"NFS server 192.0.2.4"}, nil},
		{"2: silence of a log is no recovery", "I1120 10:08:14.122231   13008 kubelet.go:1794] skipping pod synchronization - container runtime is down\n" +
			"I1120 10:40:14.122231   13008 prober.go:116] Liveness probe succeeded\n", []string{"no later line repeats it"}, []string{"recovered"}},
		{"2: docker that is not there, by the relist alone", "I1120 10:08:14.122231   13008 kubelet.go:1794] skipping pod synchronization - container runtime is down\n" +
			"E1120 10:12:11.700251   13008 generic.go:197] GenericPLEG: Unable to retrieve pods: " + docker + "\n", []string{"runtime-unresponsive: Container runtime has not responded"}, []string{"did not respond"}},
		{"2: REMOVE of a static pod is a request", `I1120 07:00:11.100120    1010 kubelet.go:2087] "SyncLoop REMOVE" source="file" pods=["kube-system/kube-apiserver-cp1"]` + "\n", nil, []string{"pod-terminating-stuck", "removed"}},
		{"3: no space left on device of inotify", "E1120 10:00:02.118101     610 raw.go:146] Failed to watch directory \"/sys/fs/cgroup/memory\": inotify_add_watch /sys/fs/cgroup/memory: no space left on device\n", []string{"limit-exhausted"}, []string{"disk-pressure", "disk-near"}},
		{"4: an F line is no panic", "F1120 08:40:11.902113    3310 server.go:273] failed to run Kubelet: Running with swap on is not supported\ngoroutine 1 [running]:\n", []string{"kubelet-restarting"}, []string{"panic"}},
		{"9: an orphan that was cleaned", strings.Replace(orphanLine, "total of 3", "total of 1", 1) + `I1120 10:02:47.000001    2588 kubelet_volumes.go:163] "Cleaned up orphaned pod volumes dir" podUID="` + uid + `" path="/var/lib/kubelet/pods/` + uid + `/volumes"` + "\n", nil, []string{"pod-orphaned"}},
		{"9: of three orphans one was cleaned", orphanLine + `I1120 10:02:47.000001    2588 kubelet_volumes.go:163] "Cleaned up orphaned pod volumes dir" podUID="` + uid + `" path="/var/lib/kubelet/pods/` + uid + `/volumes"` + "\n", []string{"pod-orphaned"}, nil},
		{"a shim that ends with its container", shim + `shim disconnected" id=a0b1` + "\n" + shim + `StopContainer for \"a0b1\" returns successfully"` + "\n", nil, []string{"container-stop-failing"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all []string
			for _, f := range judgePasted(t, tt.text).Findings {
				all = append(all, f.ID+": "+f.Title)
			}
			said := strings.Join(all, "\n")
			for _, part := range tt.has {
				if !strings.Contains(said, part) {
					t.Errorf("%q is missing in:\n%s", part, said)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(said, part) {
					t.Errorf("%q is said:\n%s", part, said)
				}
			}
		})
	}
}

const orphanLine = klogAt + orphanText + "\n"
