// Package frame is what all pages have in common: head, style, script, content security policy, a few parts of templates, and the scale of
// their timelines.
//
// The policy allows the style and the script of the page by their hashes, and nothing else.
package frame

import (
	"crypto/sha256"
	_ "embed" // of the files below
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/packed"
)

// common are style.css, script.js and parts.html.
//
//go:generate go test -run TestPacked . -update
//go:embed common.json.gz
var common string

// A Frame is put around a page.
type Frame struct {
	Policy string
	Style  template.CSS
	Script template.JS
}

// Parse parses the templates of a page, beside the parts "head" (down to the contents; the page defines "product", "brand" and "first" for it),
// "mark" (of Tone and Word), "when" (of ISO and Text) and "icon" (of a tone). The archive is of [packed.PackFiles]; what of the style is for this
// page alone is a file of it, and is added to that of all.
func Parse(funcs template.FuncMap, archive string) (*template.Template, Frame, error) {
	ours, err := packed.Named(common)
	if err != nil {
		return nil, Frame{}, err
	}
	files, err := packed.Files(archive)
	if err != nil {
		return nil, Frame{}, err
	}
	pages, css, script := template.New("").Funcs(funcs), ours["style.css"], ours["script.js"]
	if _, err := pages.Parse(ours["parts.html"]); err != nil {
		return nil, Frame{}, err
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name, ".css") {
			css += f.Text
		} else if _, err := pages.New(f.Name).Parse(f.Text); err != nil {
			return nil, Frame{}, err
		}
	}
	return pages, Frame{policy(css, script), template.CSS(css), template.JS(script)}, nil
}

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
