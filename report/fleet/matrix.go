package fleet

import (
	"fmt"
	"slices"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// matrix shows which node has which cause: one row for each node, or, of many nodes, for each set of causes.
type matrix struct {
	Causes []matrixColumn
	Rows   []matrixRow
	Groups bool
	Others int // causes without a column
	Cut    int // rows that are left out
}

type matrixColumn struct {
	Number int
	Title  string
}

type matrixRow struct {
	Node  link
	Count int    // of nodes, for a set
	Names string // of the first of them
	Cells []mark // a mark without a tone is empty
	More  string // causes without a column
}

const (
	maxColumns    = 20
	maxMatrixRows = 60 // sick nodes that have rows of their own
)

// newMatrix is nil where there is nothing to compare.
func newMatrix(s *Summary) *matrix {
	if s.Sick < 2 || len(s.Causes) < 2 {
		return nil
	}
	m := &matrix{Groups: s.Sick > maxMatrixRows, Others: max(0, len(s.Causes)-maxColumns)}
	for i := range s.Causes[:min(len(s.Causes), maxColumns)] {
		m.Causes = append(m.Causes, matrixColumn{i + 1, see(s.Causes[i].Title)})
	}
	severity := map[[2]int]mark{}
	for c := range s.Causes[:len(m.Causes)] {
		for _, n := range s.Causes[c].Nodes {
			severity[[2]int{c, n.node}] = severityMark(n.Severity)
		}
	}
	sets := map[string]int{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if len(n.Causes) == 0 {
			continue
		}
		row := matrixRow{Node: nodeLink(n), Count: 1}
		for c := range m.Causes {
			row.Cells = append(row.Cells, severity[[2]int{c, i}])
		}
		if more := len(n.Causes) - len(n.Causes[:countBelow(n.Causes, len(m.Causes))]); more > 0 {
			row.More = text.Plural(more, "more cause")
		}
		key := fmt.Sprint(row.Cells, row.More)
		if at, ok := sets[key]; ok && m.Groups {
			m.Rows[at].add(row.Node.Text)
			continue
		}
		sets[key] = len(m.Rows)
		row.Names = row.Node.Text
		m.Rows = append(m.Rows, row)
	}
	if m.Groups {
		sorting.Stable(m.Rows, func(a, b matrixRow) int { return b.Count - a.Count })
	}
	left := room(budgetMatrix)
	for i := range m.Rows {
		if !left.fits(120+60*len(m.Causes), m.Rows[i].Node.Text, m.Rows[i].Node.Href, m.Rows[i].Names) {
			m.Cut = len(m.Rows) - i
			m.Rows = m.Rows[:i]
			break
		}
	}
	return m
}

// add counts a further node of a set, and names the first few.
func (r *matrixRow) add(name string) {
	const most = 4
	switch r.Count++; {
	case r.Count <= most:
		r.Names += ", " + name
	case r.Count == most+1:
		r.Names += ", …"
	}
}

// countBelow is how many of the causes have a column.
func countBelow(causes []int, columns int) int {
	if i := slices.IndexFunc(causes, func(c int) bool { return c >= columns }); i >= 0 {
		return i
	}
	return len(causes)
}
