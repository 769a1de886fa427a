package main

import (
	"cmp"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/report"
)

// eachNode judges the evidence of several nodes, each by itself, and reports on the worst first.
func (a *app) eachNode(out outputFlags, nodes []forensics.Evidence, key []byte, command []string) error {
	reports := make([]report.Report, 0, len(nodes))
	for i, e := range nodes {
		left := time.Duration(len(nodes) - i)
		reports = append(reports, a.redactAndJudge(out.redact, e, key, command, share(out.deadline, 1, left+1)))
	}
	sorting.Stable(reports, worseFirst)
	for i, r := range reports {
		if heading := a.betweenNodes(out.format, i, r); heading != "" {
			if err := writeStdout(a.out.file, []byte(heading), out.deadline); err != nil {
				return err
			}
		}
		if err := a.finish(out, r); err != nil {
			return err
		}
	}
	return nil
}

// betweenNodes is what stands before the report of one node of several.
func (a *app) betweenNodes(format string, number int, r report.Report) string {
	between := ""
	switch {
	case number == 0:
	case format == formatYAML:
		between = "---\n"
	case format == "", format == formatText, format == formatMarkdown:
		between = "\n"
	}
	if a.quiet && (format == "" || format == formatText) { // which has no line with the name
		between += printable(cmp.Or(r.Node.Name, "unknown node")) + "\n"
	}
	return between
}

// worseFirst orders reports by their diagnoses, which are in order themselves: by severity, then by how many there are.
func worseFirst(a, b report.Report) int {
	for i := range max(len(a.Diagnoses), len(b.Diagnoses)) {
		if c := cmp.Compare(rankOf(b, i), rankOf(a, i)); c != 0 {
			return c
		}
	}
	return 0
}

func rankOf(r report.Report, i int) int {
	if i >= len(r.Diagnoses) {
		return 0
	}
	return r.Diagnoses[i].Severity.Rank()
}
