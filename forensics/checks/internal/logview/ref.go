package logview

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// Refs are lines as references, each once, and the first few only.
func Refs(lines ...logs.Quote) []forensics.Ref {
	const most = 8
	var refs []forensics.Ref
	for _, q := range lines {
		r := forensics.LogRef(q)
		if q.Text != "" && len(refs) < most && !slices.Contains(refs, r) {
			refs = append(refs, r)
		}
	}
	return refs
}

// EventRefs are the lines of events, the first and the last of each.
func EventRefs(list ...logs.Event) []forensics.Ref {
	var lines []logs.Quote
	for _, e := range list {
		lines = append(lines, e.Quotes...)
	}
	return Refs(lines...)
}
