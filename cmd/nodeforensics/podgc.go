package main

import (
	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// podGCFlags say how the cluster's pod garbage collector is set, as far as nothing on the node tells.
type podGCFlags struct {
	threshold int
	changed   func() bool
}

func (f *podGCFlags) register(cmd *cobra.Command) {
	const name = "terminated-pod-gc-threshold"
	cmd.Flags().IntVar(&f.threshold, name, 12_500, "value of this flag of the kube-controller-manager, to reproduce its pod garbage collection on API objects")
	f.changed = func() bool { return cmd.Flags().Changed(name) }
}

// apply notes what the flag says beside the objects that it is about.
func (f *podGCFlags) apply(e *forensics.Evidence) {
	if e.Cluster != nil && f.changed() {
		e.Cluster.TerminatedPodGCThreshold = &f.threshold
	}
}
