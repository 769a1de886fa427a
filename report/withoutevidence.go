package report

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// maxWithoutEvidence is how many findings and diagnoses such a report has.
const maxWithoutEvidence = 200

// WithoutEvidence is the analysis of a report without its evidence, for when there is no time to write all of it: the worst
// findings and the coverage. The coverage says so.
func WithoutEvidence(r Report) Report {
	e := forensics.NewEvidence()
	e.Collected, e.Root, e.Collector, e.Node = r.Evidence.Collected, r.Evidence.Root, r.Evidence.Collector, r.Evidence.Node
	e.Collector.Outstanding = e.Collector.Outstanding[:min(len(e.Collector.Outstanding), maxWithoutEvidence)]
	e.Coverage = append(append([]forensics.Source{}, r.Coverage[:min(len(r.Coverage), maxWithoutEvidence)]...), forensics.Source{
		Source: forensics.SourceAnalysis, Status: forensics.SourceTruncated,
		Detail: "timed out before the report was written: the evidence is omitted, and all findings except the worst",
	})
	cut := Report{Schema: r.Schema, Tool: r.Tool, Node: r.Node, Outcomes: r.Outcomes, Coverage: e.Coverage, MountHealth: []mounts.Health{}, Evidence: e}
	cut.Findings = append([]forensics.Finding{}, r.Findings[:min(len(r.Findings), maxWithoutEvidence)]...)
	for i := range cut.Findings {
		f := &cut.Findings[i]
		f.Subjects, f.Refs, f.Pods = atMost(f.Subjects), atMost(f.Refs), atMost(f.Pods)
	}
	cut.Diagnoses = []forensics.Diagnosis{}
	for _, d := range r.Diagnoses[:min(len(r.Diagnoses), maxWithoutEvidence)] {
		d.Findings = within(d.Findings, len(cut.Findings))
		d.Pods, d.Remedies = atMost(d.Pods), atMost(d.Remedies)
		cut.Diagnoses = append(cut.Diagnoses, d)
	}
	return cut
}

// atMost is the beginning of a list.
func atMost[T any](list []T) []T { return list[:min(len(list), maxWithoutEvidence)] }

// within are the indexes below n.
func within(list []int, n int) []int {
	kept := []int{}
	for _, i := range list {
		if i < n {
			kept = append(kept, i)
		}
	}
	return kept
}
