package mask

import (
	"reflect"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// ValidUTF8 applies [text.ToValidUTF8] to every string of the evidence but words of the kernel, of Go and of
// Kubernetes. Do so before [forensics.Analyze] where evidence and verdicts are to be stored as JSON: that would replace those
// bytes, and names that differ become the same.
func ValidUTF8(e *forensics.Evidence) {
	v, changed := mapStrings(reflect.ValueOf(*e), "", func(_, s string) string { return text.ToValidUTF8(s) })
	if changed {
		*e = v.Interface().(forensics.Evidence)
	}
}
