package fleet

import (
	"bufio"
	_ "embed" // of the template
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/nodeforensics/nodeforensics/internal/text"
	"github.com/nodeforensics/nodeforensics/report/internal/frame"
)

// assets are page.html and page.css.
//
//go:generate go test -run TestPacked . -update
//go:embed page.json.gz
var assets string

// HTML writes the summary as one page without external references, as those of reports. It works without scripts. What is too much for a page
// of less than 3 MB is left out, and the page says so. Nodes link to their reports, relative to the directory of the page.
func HTML(w io.Writer, s Summary) error {
	f, err := pageFrame()
	if err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	p := newPage(&s)
	p.Frame = f.Frame
	out := bufio.NewWriterSize(w, 64<<10)
	if err := f.pages.ExecuteTemplate(out, "page.html", p); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	return out.Flush()
}

type parsedPage struct {
	frame.Frame
	pages *template.Template
}

var pageFrame = sync.OnceValues(func() (parsedPage, error) {
	pages, f, err := frame.Parse(template.FuncMap{"count": text.Plural}, assets)
	return parsedPage{f, pages}, err
})
