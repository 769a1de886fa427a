package report

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
)

//go:embed assets
var assets embed.FS

// HTML writes the report as one page without any outside reference. It works with scripts off; the script that it
// carries adds filtering, sorting and copying. Long evidence is folded, and past limits, which the page states, cut:
// the JSON holds the whole.
//
// A content security policy admits the page's own style and script by their hashes and nothing else.
func HTML(w io.Writer, r Report) error {
	style, err := assets.ReadFile("assets/style.css")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	script, err := assets.ReadFile("assets/script.js")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	tmpl, err := template.New("page.html").Funcs(template.FuncMap{"prose": prose, "count": count}).ParseFS(assets, "assets/*.html")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	p := newPage(r)
	p.Style, p.Script = template.CSS(style), template.JS(script)
	p.Policy = policy(style, script)
	out := bufio.NewWriterSize(w, 64<<10)
	if err := tmpl.Execute(out, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

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
