package main

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// A check is tested with evidence that is made by hand: of two NFS mounts, the soft one is reported.
func TestSoftNFS(t *testing.T) {
	e := forensics.NewEvidence()
	e.Kubelet = &kubelet.Instance{RootDir: "/var/lib/kubelet"}
	e.Mounts.Mounts = []mounts.Mount{
		{ID: 7, FSType: "nfs4", MountPoint: "/var/lib/kubelet/pods/a/volumes/kubernetes.io~nfs/v", SuperOptions: "rw,soft"},
		{ID: 8, FSType: "nfs4", MountPoint: "/var/lib/kubelet/pods/b/volumes/kubernetes.io~nfs/v", SuperOptions: "rw,hard"},
	}
	a := forensics.Analyze(&e, []forensics.Check{softNFS})
	if len(a.Findings) != 1 || a.Findings[0].Subject != forensics.MountEntity(7) {
		t.Errorf("findings: %+v", a.Findings)
	}
}
