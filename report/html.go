package report

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // of the assets
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
)

// The files in assets become a part of the program in one compressed piece, which a test holds to them.
//
//go:generate go test -run TestAssetsAreCurrent . -update

//go:embed assets.json.gz
var packedAssets []byte

// assets are the texts that a page is made of, by file name.
func assets() (map[string]string, error) {
	r, err := gzip.NewReader(bytes.NewReader(packedAssets))
	if err != nil {
		return nil, err
	}
	var files map[string]string
	return files, json.NewDecoder(r).Decode(&files)
}

// HTML writes the report as one page without any outside reference. It works with scripts off; the script that it
// carries adds filtering, sorting and copying. Long evidence is folded, and past limits, which the page states, cut:
// the JSON holds the whole.
//
// A content security policy admits the page's own style and script by their hashes and nothing else.
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

// pageFrame makes it once: to read, parse and escape the templates takes longer than to write a small page.
var pageFrame = sync.OnceValues(func() (frame, error) {
	files, err := assets()
	if err != nil {
		return frame{}, err
	}
	pages := template.New("").Funcs(template.FuncMap{"prose": prose, "count": count})
	for name, text := range files {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		if _, err := pages.New(name).Parse(text); err != nil {
			return frame{}, err
		}
	}
	style, script := files["style.css"], files["script.js"]
	return frame{pages, template.CSS(style), template.JS(script), policy(style, script)}, nil
})

// policy is the content security policy: our style, our script, the icon in a data address, and nothing from anywhere.
func policy(style, script string) string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'",
		hash(style), hash(script))
}

// hash is a source expression of Content Security Policy Level 3, section 2.3.1.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
