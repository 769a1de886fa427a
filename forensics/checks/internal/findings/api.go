package findings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// OnThisNode says whether a pod of the API runs on the node that was examined; without a node name (saved files) all do.
func OnThisNode(e *forensics.Evidence, pod apidump.Pod) bool {
	names := []string{e.Node.Name}
	if e.Kubelet != nil {
		names = append(names, e.Kubelet.NodeName)
	}
	names = sorting.Delete(names, func(n string) bool { return n == "" })
	return len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, pod.Node) })
}

// finalizers says what finalizers of claims and volumes wait for, by prefix.
var finalizers = []struct{ name, waits string }{
	{"kubernetes.io/pvc-protection", "every pod that uses it to terminate"},
	{"kubernetes.io/pv-protection", "its claim to be deleted"},
	{"external-attacher/", "the volume to be detached from every node"},
	{"external-provisioner.volume.kubernetes.io/finalizer", "its backing storage to be deleted"},
	{"kubernetes.io/pv-controller", "its backing storage to be deleted"},
	{"snapshot.storage.kubernetes.io/pvc-as-source-protection", "a snapshot of it to be taken"},
	{"provisioner.storage.kubernetes.io/cloning-protection", "a clone of it to be made"},
	{"foregroundDeletion", "everything that it owns to be deleted"},
	{"orphan", "everything that it owns to be orphaned"},
}

func finalizerWaits(finalizer string) string {
	for _, f := range finalizers {
		if strings.HasPrefix(finalizer, f.name) {
			return f.waits
		}
	}
	return "the controller that set it (not the kubelet)"
}

// DescribeFinalizers says what each finalizer waits for.
func DescribeFinalizers(list []string) string {
	var parts []string
	for _, f := range list {
		parts = append(parts, fmt.Sprintf("finalizer %s waits for %s", f, finalizerWaits(f)))
	}
	return strings.Join(parts, "; ")
}
