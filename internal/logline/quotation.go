package logline

import "strings"

// A Quotation follows what klog quotes line by line below "output=<", each with a tab before it. Such text may be of a probe, and so of a pod.
type Quotation struct{ open bool }

// Has says whether the next line of a text is within a quotation.
func (q *Quotation) Has(line string) bool {
	quoted := q.open && strings.HasPrefix(line, "\t")
	q.open = quoted || strings.HasSuffix(strings.TrimRight(line, "\r\n"), "=<")
	return quoted
}
