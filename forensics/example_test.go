package forensics_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// A check of one's own is a value like those of package checks. Evidence that is made by hand counts as collected where its
// source is in the coverage.
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
					p.Report(forensics.Finding{Severity: forensics.Warning, Subject: forensics.MountEntity(m.ID), Title: m.Source + " is mounted soft", Confidence: forensics.Certain})
				}
			}
		},
	}
	e := forensics.NewEvidence()
	e.Mounts.Mounts = []mounts.Mount{{ID: 7, FSType: "nfs4", Source: "10.0.0.9:/export", MountPoint: "/mnt", SuperOptions: "rw,soft"}}
	judge := func() {
		analysis := forensics.Analyze(&e, []forensics.Check{softNFS})
		fmt.Println(analysis.Outcomes[0].Status)
		for _, f := range analysis.Findings {
			fmt.Println(f.Severity, f.Subject, f.Title)
		}
	}
	judge()
	e.Cover(forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead})
	judge()
	// Output:
	// not-checked
	// found
	// warning mount 7 10.0.0.9:/export is mounted soft
}
