package report

import (
	"bufio"
	_ "embed" // of the templates
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/nodeforensics/nodeforensics/report/internal/frame"
)

// assets are the templates in assets, of which a page is made.
//
//go:generate go test -run TestPacked . -update
//go:embed assets.json.gz
var assets string

// HTML writes the report as one page without external references. The page works without scripts; its script adds filters,
// sorting and copying. Long evidence is folded, or cut at limits that the page states. The JSON has all of it.
//
// A content security policy allows the style and the script of the page by their hashes, and nothing else.
func HTML(w io.Writer, r Report) error {
	f, err := pageFrame()
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	p := newPage(r)
	p.Frame = f.Frame
	out := bufio.NewWriterSize(w, 64<<10)
	if err := f.pages.ExecuteTemplate(out, "page.html", p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// A parsedPage is what all pages have in common.
type parsedPage struct {
	frame.Frame
	pages *template.Template
}

// pageFrame makes it once: parsing and escaping the templates takes longer than writing a small page.
var pageFrame = sync.OnceValues(func() (parsedPage, error) {
	pages, f, err := frame.Parse(template.FuncMap{"prose": prose, "count": count}, assets)
	return parsedPage{f, pages}, err
})
