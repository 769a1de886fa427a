package mask_test

import (
	"fmt"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/mask"
)

// BenchmarkRedact masks a node with 3,000 mounts, 2,000 processes and 110 pods.
func BenchmarkRedact(b *testing.B) {
	e := forensics.NewEvidence()
	for i := range 110 {
		e.Pods = append(e.Pods, kubelet.Pod{UID: fmt.Sprint(i), Namespace: "shop", Name: fmt.Sprintf("web-%d", i)})
	}
	for i := range 3000 {
		e.Mounts.Mounts = append(e.Mounts.Mounts, mounts.Mount{
			ID: i, FSType: "nfs4", Class: mounts.ClassNetwork, Source: fmt.Sprintf("10.0.0.%d:/exports/pvc-%d", i%250, i),
			MountPoint:   fmt.Sprintf("/var/lib/kubelet/pods/5c94cb01-1d2e-4f6b-9b5e-2a7a4c1de201/volumes/kubernetes.io~csi/pvc-%d/mount", i),
			SuperOptions: "rw,vers=4.1,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys",
		})
	}
	for i := range 2000 {
		e.Processes = append(e.Processes, procs.Process{PID: i, Command: []string{"java", "-jar", "/app/service.jar", "--server.port=8080"}})
	}
	for name, strict := range map[string]bool{"secrets": false, "strict": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				one := e
				if _, err := mask.Until(b.Context(), &one, []byte("key"), strict); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
