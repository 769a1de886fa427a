package logs

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// A truth is what a generator has written.
type truth struct {
	lines, selected int64
	counts          map[string]int64
}

// chatter are lines of a kubelet that say nothing, as they make up most of a log.
var chatter = []string{
	`I%s    2588 httplog.go:134] "HTTP" verb="GET" URI="/metrics/cadvisor" latency="35.56µs" userAgent="Prometheus/2.45.0" audit-ID="" srcIP="10.0.12.17:50918" resp=200`,
	`I%s    2588 configmap.go:225] "Received configMap containing pieces of data" pod="production/checkout-6d9f7c7b5d-x2k8p" namespace="production" name="kube-root-ca.crt" dataCount=1 size="1.107KiB"`,
	`I%s    2588 prober.go:107] "Probe succeeded" probeType="Readiness" pod="production/checkout-6d9f7c7b5d-x2k8p" podUID="0f3c2c1e-7a4d-4d25-9d53-9e8f1a2b3c4d" containerName="checkout"`,
	`I%s    2588 status_manager.go:875] "Patch status for pod" pod="production/checkout-6d9f7c7b5d-x2k8p" podUID="0f3c2c1e-7a4d-4d25-9d53-9e8f1a2b3c4d" patch="{\"metadata\":{\"uid\":\"0f3c2c1e\"}}"`,
	`I%s    2588 kubelet_getters.go:206] "Pod status updated" pod="kube-system/kube-proxy-8vq2m" status="Running"`,
	`I%s    2588 desired_state_of_world_populator.go:321] "Added volume to desired state" pod="production/cart-5c6d9b8f7-2lqzn" volumeName="config" volumeSpecName="config"`,
	`W%s    2588 watcher.go:93] Error while processing event ("/sys/fs/cgroup/memory/system.slice/run-r5c0e.scope": 0x40000100 == IN_CREATE|IN_ISDIR): inotify_add_watch: no such file or directory`,
	`I%s    2588 topology_manager.go:215] "Topology Admit Handler" podUID="7d2f7b0e-2f4b-4c39-8a5f-3d1c5b6a7e8f" podNamespace="batch" podName="report-28391040-h7d2z"`,
}

// telling are lines that matter, with what they are counted as.
var telling = []struct{ word, line string }{
	{"rphaned pod", `E%s    2588 kubelet_volumes.go:263] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"%s\" found, but error occurred when trying to remove the volumes dir: not a directory" numErrs=3`},
	{"SyncLoop", `I%s    2588 kubelet.go:2531] "SyncLoop DELETE" source="api" pods=["default/web-%.8s"]`},
	{"durationBeforeRetry", "E%s    2588 nestedpendingoperations.go:348] Operation for \"{volumeName:kubernetes.io/csi/nfs.csi.k8s.io^h#1 podName:%[2]s nodeName:}\" failed. No retries permitted until 2026-11-20 10:02:43 +0000 UTC m=+7.5 (durationBeforeRetry 500ms). Error: UnmountVolume.TearDown failed for volume \"data\" pod \"%[2]s\" : unmount failed: exit status 32\nUnmounting arguments: /var/lib/kubelet/pods/%[2]s/volumes/kubernetes.io~csi/data/mount\nOutput: umount: /var/lib/kubelet/pods/%[2]s/volumes/kubernetes.io~csi/data/mount: target is busy."},
}

// generate writes about so many bytes of a kubelet's log, of which two messages in a hundred tell something.
func generate(w io.Writer, size int64) (truth, error) {
	out := bufio.NewWriterSize(w, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	is := truth{counts: map[string]int64{}}
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for written := int64(0); written < size; {
		at = at.Add(time.Duration(random.IntN(15_000)) * time.Microsecond)
		stamp := at.Format("0102 15:04:05.000000")
		var n int
		if random.IntN(100) > 1 {
			n, _ = fmt.Fprintf(out, chatter[random.IntN(len(chatter))], stamp)
			is.lines++
		} else {
			message := telling[random.IntN(len(telling))]
			uid := fmt.Sprintf("%08x-0000-4000-8000-%012x", random.Uint32N(200_000), 7)
			n, _ = fmt.Fprintf(out, message.line, stamp, uid)
			is.counts[message.word]++
			is.lines++
			is.selected++
			if message.word == "durationBeforeRetry" { // of its three lines the first holds a word
				is.lines += 2
			}
		}
		if err := out.WriteByte('\n'); err != nil {
			return is, err
		}
		written += int64(n) + 1
	}
	return is, out.Flush()
}
