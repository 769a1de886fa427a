package redact_test

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/redact"
)

// The lines are a kubelet's, as they come again and again; none has a secret, some have the words.
const kubeletLog = `I1120 10:28:10.001234   15709 kubelet.go:2531] "SyncLoop (PLEG): event for pod" pod="default/web" event={"ID":"2fa11937-7fb2-11ea-80b3-246e968d4b38","Type":"ContainerDied","Data":"6c1d9c4ee0b1a9ad05b8cb3f0d2cbb5f5a3e2b4b4a1c5e8b9b1a7d4d9e0c3f21"}
I1120 10:28:10.101234   15709 reconciler_common.go:163] "operationExecutor.UnmountVolume started for volume \"sub\" (UniqueName: \"kubernetes.io/empty-dir/2fa11937-7fb2-11ea-80b3-246e968d4b38-sub\") pod \"2fa11937-7fb2-11ea-80b3-246e968d4b38\" (UID: \"2fa11937-7fb2-11ea-80b3-246e968d4b38\") "
E1120 10:28:10.201234   15709 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/empty-dir/2fa11937-7fb2-11ea-80b3-246e968d4b38-sub podName:2fa11937-7fb2-11ea-80b3-246e968d4b38 nodeName:}" failed. No retries permitted until 2026-11-20 10:28:10.701234 +0000 UTC m=+45.1 (durationBeforeRetry 500ms). Error: UnmountVolume.TearDown failed for volume "sub": exit status 32
I1120 10:28:12.001234   15709 kubelet_getters.go:206] "Path does not exist" path="/var/lib/kubelet/pods/2fa11937-7fb2-11ea-80b3-246e968d4b38/volumes"
E1120 10:28:12.201234   15709 kubelet_volumes.go:263] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"5c948341-c030-4996-b888-f032577d97b0\" found, but volume paths are still present on disk" numErrs=3
I1120 10:28:13.001234   15709 reflector.go:430] "Caches populated" type="*v1.Service" reflector="k8s.io/client-go/informers/factory.go:160"
`

func benchmark(b *testing.B, log string) {
	lines := strings.SplitAfter(log, "\n")
	r := redact.New(nil)
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range lines {
			r.Text("log", line)
		}
	}
}

func BenchmarkClean(b *testing.B) { benchmark(b, strings.Repeat(kubeletLog, 20)) }

// BenchmarkWords has names of secrets in every line, which are not assigned anything.
func BenchmarkWords(b *testing.B) {
	benchmark(b, strings.Repeat(`E1120 10:28:12.201234   15709 secret.go:189] "Couldn't get secret" secret="default/db-credentials" err="secret \"db-credentials\" not found"`+"\n", 100))
}

func BenchmarkSecrets(b *testing.B) {
	benchmark(b, strings.Repeat(`Mounting arguments: -t cifs -o username=bob,password=hunter2secret,vers=3.0 //srv/x /var/lib/kubelet/pods/x`+"\n", 100))
}
