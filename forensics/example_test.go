package forensics_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// A check of one's own is a value like those of package checks. Evidence that is made by hand counts as collected, and what it
// lacks as not collected.
func ExampleAnalyze() {
	softNFS := forensics.Check{
		ID:       "example-nfs-soft",
		Title:    "An NFS volume is mounted soft",
		Doc:      "A soft mount answers EIO when the server is slow.",
		Severity: forensics.Warning,
		Needs:    []forensics.Need{{forensics.SourceMounts}},
		Run: func(p *forensics.Pass) {
			for _, m := range p.Evidence.Mounts.Mounts {
				if strings.HasPrefix(m.FSType, "nfs") && slices.Contains(strings.Split(m.SuperOptions, ","), "soft") {
					p.Report(forensics.Finding{
						Severity: forensics.Warning, Subject: forensics.MountEntity(m.ID), Confidence: forensics.Certain,
						Title: m.Source + " is mounted soft",
					})
				}
			}
		},
	}
	soft := mounts.Mount{ID: 7, FSType: "nfs4", Source: "10.0.0.9:/export", MountPoint: "/mnt", SuperOptions: "rw,soft"}
	for _, e := range []forensics.Evidence{
		{Mounts: mounts.Table{Mounts: []mounts.Mount{soft}}},
		{},
	} {
		analysis := forensics.Analyze(&e, []forensics.Check{softNFS})
		fmt.Printf("%s %q\n", analysis.Outcomes[0].Status, analysis.Outcomes[0].Reason)
		for _, f := range analysis.Findings {
			fmt.Println(f.Severity, f.Subject, f.Title)
		}
	}
	// Output:
	// found ""
	// warning mount 7 10.0.0.9:/export is mounted soft
	// not-checked "mounts not collected"
}
