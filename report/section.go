package report

import (
	"cmp"
	"fmt"
	"strings"
)

// A Section is what a caller adds to a report: the result of another tool, an inventory, a note. Its text is treated like that of
// the node: it cannot become markup, and what is too long for the page is cut there and whole in the JSON.
type Section struct {
	Title string `json:"title"`
	// Text is in paragraphs, each of them a line.
	Text string `json:"text,omitempty"`
	// Columns are the heads of a table, Rows its cells; absent where there is none.
	Columns []string   `json:"columns,omitempty"`
	Rows    [][]string `json:"rows,omitempty"`
}

// sectionView is a section on the page.
type sectionView struct {
	ID         string
	Title      shown
	Paragraphs []shown
	Columns    []shown
	Rows       [][]shown
	Cut        int
}

func newSections(r Report) []sectionView {
	room := budget(budgetSections)
	var views []sectionView
	for i, s := range r.Sections {
		v := sectionView{ID: fmt.Sprintf("section-%d", i+1), Title: cell(cmp.Or(s.Title, "Section"), maxCell), Columns: cells(s.Columns)}
		for line := range strings.Lines(s.Text) {
			if p := cell(strings.TrimSpace(line), maxExcerpt); p != "" && room.fits(p, 20) {
				v.Paragraphs = append(v.Paragraphs, p)
			}
		}
		for j, row := range s.Rows {
			c := cells(row)
			if !room.fits(c, 20) {
				v.Cut = len(s.Rows) - j
				break
			}
			v.Rows = append(v.Rows, c)
		}
		if !room.fits(v.Title, 500) {
			break
		}
		views = append(views, v)
	}
	return views
}

func cells(list []string) []shown {
	row := make([]shown, len(list))
	for i, s := range list {
		row[i] = cell(s, maxCell)
	}
	return row
}

// sections writes each with its table, a line a row.
func (t *textWriter) sections(r Report) {
	for _, s := range r.Sections {
		t.strong(string(cell(cmp.Or(s.Title, "Section"), maxTextBytes)))
		for line := range strings.Lines(s.Text) {
			t.line("  ", line)
		}
		for i, row := range s.Rows {
			if i == maxTextLines {
				t.line("  ", fmt.Sprintf("and %d more: see the report.", len(s.Rows)-i))
				break
			}
			fields := make([]string, len(row))
			for j, value := range row {
				if j < len(s.Columns) {
					value = s.Columns[j] + " " + value
				}
				fields[j] = value
			}
			t.item("  - ", strings.Join(fields, ", "))
		}
		t.blank()
	}
}
