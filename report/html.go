package report

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"sync"
)

// assets are the templates, the style and the script that a page is made of.
//
//go:embed assets
var assets embed.FS

// HTML writes the report as one page without external references. The page works without scripts; its script adds filters,
// sorting and copying. Long evidence is folded, or cut at limits that the page states. The JSON has all of it.
//
// A content security policy allows the style and the script of the page by their hashes, and nothing else.
func HTML(w io.Writer, r Report) error {
	frame, err := pageFrame()
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	p := newPage(r)
	p.Style, p.Script, p.Policy = frame.style, frame.script, frame.policy
	out := bufio.NewWriterSize(w, 64<<10)
	if err := frame.pages.ExecuteTemplate(out, "page.html", p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// A frame is what all pages have in common.
type frame struct {
	pages  *template.Template
	style  template.CSS
	script template.JS
	policy string
}

// pageFrame makes it once: parsing and escaping the templates takes longer than writing a small page.
var pageFrame = sync.OnceValues(func() (frame, error) {
	pages, err := template.New("").Funcs(template.FuncMap{"prose": prose, "count": count}).ParseFS(assets, "assets/*.html")
	if err != nil {
		return frame{}, err
	}
	style, err := assets.ReadFile("assets/style.css")
	if err != nil {
		return frame{}, err
	}
	script, err := assets.ReadFile("assets/script.js")
	if err != nil {
		return frame{}, err
	}
	return frame{pages, template.CSS(style), template.JS(script), policy(style, script)}, nil
})

// policy is the content security policy: our style, our script, the icon in a data address, and nothing from anywhere.
func policy(style, script []byte) string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'",
		hash(style), hash(script))
}

// hash is a source expression of Content Security Policy Level 3, section 2.3.1.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
