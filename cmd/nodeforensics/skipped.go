package main

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// maxSkippedReasons bounds the lines about files of which nobody gave the name.
const maxSkippedReasons = 10

// tellSkipped says what could not be read, in whole or in part: of files of the command line one by one, of those in archives
// and directories in one line for each reason.
func (a *app) tellSkipped(names []string, results []read.Result) {
	type skipped struct {
		reason string
		first  read.Result
		count  int
	}
	var reasons []skipped
	for _, got := range results {
		if got.Err == nil {
			continue
		}
		if slices.Contains(names, got.Name) || got.Used {
			a.warn("%s: %v", got.Name, got.Err)
			continue
		}
		reason, _, _ := strings.Cut(got.Err.Error(), ":")
		reason = strings.TrimSuffix(reason, ", skipped")
		i := slices.IndexFunc(reasons, func(s skipped) bool { return s.reason == reason })
		if i < 0 {
			i = len(reasons)
			reasons = append(reasons, skipped{reason: reason, first: got})
		}
		reasons[i].count++
	}
	other := 0
	for i, s := range reasons {
		switch {
		case i >= maxSkippedReasons:
			other += s.count
		case s.count == 1:
			a.warn("%s: %v", s.first.Name, s.first.Err)
		default:
			a.warn("%s skipped: %s (first: %s)", text.Plural(s.count, "file"), s.reason, s.first.Name)
		}
	}
	if other > 0 {
		a.warn("%s skipped for other reasons", text.Plural(other, "file"))
	}
}
