package logs

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// An UnrecognizedError is an error that the kubelet or the container runtime has logged and that no [Kind] covers: what it means is not
// known here.
type UnrecognizedError struct {
	// Origin is the program as in [File], "unknown" where no line names it.
	Origin string `json:"origin"`
	// Source is the place in its code that logs it, "kubelet.go:2341"; "" where the lines do not tell.
	Source string `json:"source,omitempty"`
	// Count is how many lines were seen. In texts of more than 64 KiB one line of every 32 KiB is examined, so that there are more.
	Count int64 `json:"count"`
	// Quote is the first of them.
	Quote Quote `json:"quote"`
}

// Bounds of what is kept of them, and what of a message tells it from others.
const (
	maxUnrecognized       = 256
	maxUnrecognizedListed = 16
	maxUnrecognizedKey    = 48
)

// unrecognized counts the errors that are not known, by the place in the code or else by how the message begins.
type unrecognized struct {
	order []*UnrecognizedError
	by    map[string]*UnrecognizedError
}

// isError says whether an error of the kubelet or a container runtime is in a line that is not known.
func isError(e *entry) bool {
	switch {
	case e.Severity != 'E' && e.Severity != 'F', e.API != nil, ofSidecar(e):
		return false
	case e.Origin == "", e.Origin == "unknown":
		return strings.HasSuffix(e.Source, ".go")
	}
	return kubeletOrigin(e.Origin) || cri.IsLogName(e.Origin)
}

func (u *unrecognized) add(file string, e *entry) {
	if !isError(e) {
		return
	}
	source := e.Source
	if source != "" && e.SourceLine > 0 {
		source += ":" + strconv.Itoa(e.SourceLine)
	}
	key := e.Origin + "\n" + cmp.Or(source, beginning(e.Message))
	known := u.by[key]
	if known == nil {
		if len(u.order) >= maxUnrecognized {
			return
		}
		if u.by == nil {
			u.by = map[string]*UnrecognizedError{}
		}
		known = &UnrecognizedError{Origin: strings.Clone(cmp.Or(e.Origin, "unknown")), Source: strings.Clone(source), Quote: quote(file, e)}
		u.by[key], u.order = known, append(u.order, known)
	}
	known.Count++
}

// beginning is what a message has before its first name or number.
func beginning(message string) string {
	message = message[:min(len(message), maxUnrecognizedKey)]
	if at := strings.IndexAny(message, `0123456789"'{[(=/`); at >= 0 {
		message = message[:at]
	}
	return message
}

// list has the most frequent ones.
func (u *unrecognized) list() []UnrecognizedError {
	sorting.Stable(u.order, func(a, b *UnrecognizedError) int { return cmp.Compare(b.Count, a.Count) })
	var list []UnrecognizedError
	for _, e := range u.order[:min(len(u.order), maxUnrecognizedListed)] {
		list = append(list, *e)
	}
	return list
}
