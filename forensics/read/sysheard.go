package read

import (
	"cmp"
	"path"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/errno"
	"github.com/nodeforensics/nodeforensics/internal/hearsay"
)

// A hearsayReader takes what sentences say of commands that look at files and do not return.
type hearsayReader struct {
	to   *systemText
	name string
}

func (r *hearsayReader) line(s string, _ int) {
	if text := hearsay.Refused(s); text != "" && len(r.to.errors) < mostSaved {
		r.to.errors = append(r.to.errors, pathCall{path: hearsay.Unnamed, errno: errno.Of(text), text: text, said: true})
		r.to.saw(forensics.SourceHealth, r.name)
		return
	}
	c, ok := hearsay.Hanging(s)
	if !ok || c.Verb != "" || len(r.to.errors) >= mostSaved {
		return
	}
	r.to.errors = append(r.to.errors, pathCall{path: path.Clean(cmp.Or(c.Path, hearsay.Unnamed)), call: c.Program, pending: true, said: true})
	r.to.saw(forensics.SourceHealth, r.name)
}
