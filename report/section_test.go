package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/report"
)

// TestSections: the page, the text and the JSON have what a caller adds; it cannot become markup, and does not grow the page
// without bound.
func TestSections(t *testing.T) {
	t.Parallel()
	r := load(t, "healthy")
	rows := [][]string{{"<img src=x onerror=alert(1)>", "\x1b[31mred"}}
	for i := range 20_000 {
		rows = append(rows, []string{fmt.Sprintf("volume %d", i), strings.Repeat("x", 50)})
	}
	r.Sections = []report.Section{
		{Title: "Inventory <b>", Text: "From the storage team.\nSecond paragraph.\n", Columns: []string{"name", "note"}, Rows: rows},
		{},
	}
	var page, text, data bytes.Buffer
	if err := report.HTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if err := report.Text(&text, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := report.JSON(&data, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<section id="section-1"`, "<h2 id=\"section-1-h\">Inventory &lt;b&gt;</h2>", "<p>Second paragraph.</p>", "<th scope=\"col\">note</th>", "&lt;img src=x", `href="#section-1"`, "more are not on this page", `<h2 id="section-2-h">Section</h2>`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page.String(), "<img src=x") || page.Len() > 400<<10 {
		t.Errorf("%d bytes of page, or markup of a section in it", page.Len())
	}
	for _, want := range []string{"Inventory <b>", "name volume 0, note xxx", "and 19981 more: see the report."} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %s", want)
		}
	}
	if strings.Contains(text.String(), "\x1b[31m") {
		t.Error("the text has an escape sequence of a section")
	}
	back, err := report.Read(&data)
	if err != nil || len(back.Sections) != 2 || len(back.Sections[0].Rows) != len(rows) || back.Sections[0].Rows[0][0] != rows[0][0] {
		t.Errorf("%d sections came back, %v", len(back.Sections), err)
	}
}
