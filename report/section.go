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
	Label      shown // which no other part of the page has
	Paragraphs []shown
	Columns    []shown
	Rows       [][]shown
	Cut        int
}

// The sections that there is room for, each with its share of it, and the columns of a table.
const (
	maxSections = 20
	maxColumns  = 20
)

func newSections(r Report) []sectionView {
	first := r.Sections[:min(len(r.Sections), maxSections)]
	var views []sectionView
	for i, s := range first {
		v := newSection(s, budget(budgetSections/len(first)))
		v.ID = fmt.Sprintf("section-%d", i+1)
		v.Label = shown(fmt.Sprintf("Section %d: %s", i+1, v.Title))
		views = append(views, v)
	}
	if n := len(r.Sections) - len(first); n > 0 {
		views = append(views, sectionView{ID: "sections-more", Title: cell(count(n, "more section"), maxCell), Label: "More sections", Paragraphs: []shown{"The JSON report holds them all."}})
	}
	return views
}

func newSection(s Section, room budget) sectionView {
	v := sectionView{Title: cell(cmp.Or(s.Title, "Section"), maxCell), Columns: cells(s.Columns[:min(len(s.Columns), maxColumns)])}
	for line := range strings.Lines(s.Text) {
		if p := cell(strings.TrimSpace(line), maxExcerpt); p != "" && room.fits(p, 20) {
			v.Paragraphs = append(v.Paragraphs, p)
		}
	}
	for i, row := range s.Rows {
		c := cells(row[:min(len(row), maxColumns)])
		if !room.fits(c, 20) {
			v.Cut = len(s.Rows) - i
			break
		}
		v.Rows = append(v.Rows, c)
	}
	return v
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
	for _, s := range r.Sections[:min(len(r.Sections), maxSections)] {
		t.strong(string(cell(cmp.Or(s.Title, "Section"), maxTextBytes)))
		lines := 0
		for line := range strings.Lines(s.Text) {
			if lines++; lines <= maxTextLines {
				t.line("  ", line)
			}
		}
		for _, row := range s.Rows[:min(len(s.Rows), maxTextLines)] {
			t.item("  - ", rowText(s.Columns, row))
		}
		if n := max(lines-maxTextLines, 0) + max(len(s.Rows)-maxTextLines, 0); n > 0 {
			t.line("  ", fmt.Sprintf("and %d more: see the report.", n))
		}
		t.blank()
	}
	if n := len(r.Sections) - maxSections; n > 0 {
		t.line("", count(n, "more section")+": see the report.")
		t.blank()
	}
}

// rowText is a row as "head value, head value".
func rowText(columns, row []string) string {
	fields := make([]string, min(len(row), maxColumns))
	for i := range fields {
		fields[i] = row[i]
		if i < len(columns) {
			fields[i] = columns[i] + " " + row[i]
		}
	}
	return strings.Join(fields, ", ")
}
