// Package jsonlimit keeps untrusted JSON from filling the memory of the process that decodes it.
//
// A json.Decoder takes 10,000 levels in a value and any number between its tokens, reads a value as a whole before it decodes
// it, and makes a large struct of an empty object.
package jsonlimit

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge says that JSON breaks a limit.
var ErrTooLarge = errors.New("too large")

// depthLimit is how many levels there may be. A report has 12, an object of the API some 20.
const depthLimit = 64

// What values take in memory in bytes, roughly, beside their text.
const (
	objectSize  = 300
	elementSize = 24
)

// A Reader passes JSON on while it is within the limits; the first limit that is exceeded is the error. Several blanks
// between values become one, because a Decoder reads them again with each piece.
type Reader struct {
	R io.Reader
	// Bytes is how much text there may be, and Memory how much it may take when it is decoded, estimated; 0: any.
	Bytes, Memory int64
	// Item is how many bytes there may be within one element of a list in an object, blanks left out, and how much within
	// one value of another kind; 0: any.
	Item int64

	n       int64 // bytes read
	weight  int64 // what it says, as memory
	item    int64 // bytes since the text was two levels deep
	largest int64
	depth   int
	text    bool // in a string
	escaped bool // behind a backslash
	blank   bool // behind a blank
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	for {
		n, err := r.R.Read(p)
		kept := r.pass(p[:n])
		if broken := r.broken(); broken != nil {
			return 0, broken
		}
		if kept > 0 || n == 0 || err != nil {
			return kept, err
		}
	}
}

// pass looks at text and drops what is blank in it; kept is what is left.
func (r *Reader) pass(text []byte) (kept int) {
	for _, c := range text {
		if blank := !r.text && (c == ' ' || c == '\n' || c == '\t' || c == '\r'); blank && r.blank {
			continue
		} else if r.blank = blank; !blank {
			r.take(c)
		}
		text[kept] = c
		kept++
	}
	r.n += int64(len(text))
	r.weight += int64(kept)
	return kept
}

func (r *Reader) take(c byte) {
	if r.item++; r.item > r.largest {
		r.largest = r.item
	}
	switch {
	case r.escaped:
		r.escaped = false
	case r.text:
		r.escaped = c == '\\'
		r.text = c != '"'
	case c == '"':
		r.text = true
	case c == '{', c == '[':
		r.depth++
		r.weight += objectSize
	case c == '}', c == ']':
		r.depth--
	case c == ',':
		r.weight += elementSize
	}
	if !r.text && r.depth <= 2 {
		r.item = 0
	}
}

func (r *Reader) broken() error {
	const mb = 1_000_000
	switch {
	case r.depth > depthLimit:
		return fmt.Errorf("%w: JSON of more than %d levels", ErrTooLarge, depthLimit)
	case r.Bytes > 0 && r.n > r.Bytes:
		return fmt.Errorf("%w: more than %d MB of JSON", ErrTooLarge, r.Bytes/mb)
	case r.Memory > 0 && r.weight > r.Memory:
		return fmt.Errorf("%w: %.1f MB of JSON need more than %d MB of memory", ErrTooLarge, float64(r.n)/mb, r.Memory/mb)
	case r.Item > 0 && r.largest > r.Item:
		return fmt.Errorf("%w: an element of more than %d MB", ErrTooLarge, r.Item/mb)
	}
	return nil
}
