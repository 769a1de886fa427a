package checks_test

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// Judge evidence with all checks. What was not collected is not checked, and never called clean.
func ExampleAll() {
	e := forensics.NewEvidence()
	e.Mounts.Mounts = []mounts.Mount{{ID: 30, Device: "0:47", FSType: "nfs4", Class: mounts.ClassNetwork, Source: "10.0.0.9:/export", MountPoint: "/mnt"}}
	e.Probes = []mounts.Probe{{MountID: 30, Device: "0:47", MountPoint: "/mnt", Call: "statx", Errno: "ESTALE", Error: "stale file handle"}}
	count := map[forensics.OutcomeStatus]int{}
	analysis := forensics.Analyze(&e, checks.All())
	for _, o := range analysis.Outcomes {
		count[o.Status]++
		if o.Status == forensics.OutcomeFound {
			fmt.Println(o.Check)
		}
	}
	fmt.Println(count[forensics.OutcomeNotChecked] > 20)
	// Output:
	// mount-stale
	// true
}
