// Package frame is what all pages have in common: head, style, script, content security policy, a few parts of templates, and the scale of
// their timelines.
//
// The policy allows the style and the script of the page by their hashes, and nothing else.
package frame

import (
	"crypto/sha256"
	_ "embed" // for the files below
	"encoding/base64"
	"fmt"
	"html/template"
	"io/fs"
)

//go:embed style.css
var style string

//go:embed script.js
var script string

//go:embed parts.html
var parts string

// A Frame is put around a page.
type Frame struct {
	Policy string
	Style  template.CSS
	Script template.JS
}

// Parse parses the templates of a page, beside the parts "head" (down to the contents; the page defines "product", "brand" and "first" for it),
// "mark" (of Tone and Word), "when" (of ISO and Text) and "icon" (of a tone). What of the style is for this page alone is added to that of all.
func Parse(funcs template.FuncMap, files fs.FS, pattern, ownStyle string) (*template.Template, Frame, error) {
	pages, err := template.New("").Funcs(funcs).Parse(parts)
	if err == nil {
		pages, err = pages.ParseFS(files, pattern)
	}
	if err != nil {
		return nil, Frame{}, err
	}
	css := style + ownStyle
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
