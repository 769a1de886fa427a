package report

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// maxWithoutEvidence is how many findings and diagnoses a report has that there was no time for.
const maxWithoutEvidence = 200

// WithoutEvidence is the judgement of a report alone, for when there is no time to write all of it: the worst findings,
// what was read, and where. It says so in its coverage.
func WithoutEvidence(r Report) Report {
	e := forensics.NewEvidence()
	e.Collected, e.Root, e.Collector, e.Node = r.Evidence.Collected, r.Evidence.Root, r.Evidence.Collector, r.Evidence.Node
	e.Collector.Outstanding = e.Collector.Outstanding[:min(len(e.Collector.Outstanding), maxWithoutEvidence)]
	e.Coverage = append(append([]forensics.Source{}, r.Coverage[:min(len(r.Coverage), maxWithoutEvidence)]...), forensics.Source{
		Source: forensics.SourceAnalysis, Status: forensics.SourceTruncated,
		Detail: "the time was up before the report was written: the evidence is left out, and findings but the worst",
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
