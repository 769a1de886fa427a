package checks

import (
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
)

var _ = scenariosOf("pvc-terminating-held", pvcTerminatingHeldInCluster())

func pvcTerminatingHeldInCluster() []scenario {
	claim := apidump.Claim{
		Object: apidump.Object{
			Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data",
			Deleting: ptr(time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)), Finalizers: []string{"kubernetes.io/pvc-protection"},
		},
		Phase: "Bound", Volume: "pv-1",
	}
	uses := func(p *apidump.Pod) { p.Claims = []string{"data"} }
	return []scenario{
		{name: "a running pod uses the claim", base: dumped(func(d *apidump.Dump) {
			d.Claims = []apidump.Claim{claim}
			add(apiPod("db-0", "u-db", uses))(d)
		}), want: []string{"warning claim default/data"}, says: "in use by pod default/db-0"},
		{name: "only a pod that has ended uses it", base: dumped(func(d *apidump.Dump) {
			d.Claims = []apidump.Claim{claim}
			add(apiPod("db-0", "u-db", uses, func(p *apidump.Pod) { p.Phase = "Succeeded" }))(d)
		}), want: []string{"warning claim default/data"}, says: "No pod in the dump uses it"},
		{name: "a claim of a table, since when is not known", base: dumped(func(d *apidump.Dump) {
			shown := claim
			shown.Partial, shown.Deleting, shown.Finalizers = true, d.Saved, nil
			d.Claims = []apidump.Claim{shown}
		}), want: []string{"warning claim default/data"}, says: "which the text does not show"},
		{name: "a claim that nobody deletes", base: dumped(func(d *apidump.Dump) {
			kept := claim
			kept.Deleting = nil
			d.Claims = []apidump.Claim{kept}
		}), outcome: forensics.OutcomeClean},
		{name: "a volume whose claim is held", base: dumped(func(d *apidump.Dump) {
			d.Claims = []apidump.Claim{claim}
			d.Volumes = []apidump.Volume{{
				Object: apidump.Object{Kind: "PersistentVolume", Name: "pv-1", Deleting: claim.Deleting, Finalizers: []string{"kubernetes.io/pv-protection"}},
				Claim:  "default/data", Reclaim: "Delete", Phase: "Bound",
			}}
		}), want: []string{"warning claim default/data", "warning claim pv-1"}, says: "The data is deleted with the claim"},
	}
}
