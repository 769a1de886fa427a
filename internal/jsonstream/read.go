package jsonstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/jsonlimit"
)

// Limits of a document that is read. A report of a node has at most some 15 MB, and one of a dump of any size that was
// analyzed 45 MB; older versions, which kept every goroutine, wrote 98 MB for a kubelet with 77,000.
const (
	maxDocument = 64_000_000  // bytes
	maxMemory   = 160_000_000 // bytes, estimated
)

// Read reads one document into what v points to, with little more memory than v takes. A document that would need
// too much is [jsonlimit.ErrTooLarge]; it may have been decoded in part.
func Read(r io.Reader, v any) error {
	dec := json.NewDecoder(&jsonlimit.Reader{R: r, Bytes: maxDocument, Memory: maxMemory})
	err := (reader{dec, types{}}).value(reflect.ValueOf(v).Elem(), maxDepth)
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	if _, err := dec.Token(); errors.Is(err, jsonlimit.ErrTooLarge) {
		return err
	} else if !errors.Is(err, io.EOF) {
		return errors.New("there is data after the document")
	}
	return nil
}

// A reader decodes one document as encoding/json would, with the memory of its largest piece.
type reader struct {
	dec   *json.Decoder
	types types
}

// value decodes into v, which is settable.
func (j reader) value(v reflect.Value, depth int) error {
	switch {
	case depth == 0:
	case v.Kind() == reflect.Pointer && j.types.of(v.Type().Elem()).byField:
		return j.bracket('{', v, func() error {
			v.Set(reflect.New(v.Type().Elem()))
			return j.object(v.Elem(), depth)
		})
	case v.Kind() == reflect.Slice && j.types.of(v.Type().Elem()).byField:
		return j.bracket('[', v, func() error { return j.list(v, depth) })
	case j.types.of(v.Type()).byField:
		return j.bracket('{', v, func() error { return j.object(v, depth) })
	}
	return j.dec.Decode(v.Addr().Interface())
}

// bracket reads the beginning of a list or object, or null.
func (j reader) bracket(open json.Delim, v reflect.Value, inside func() error) error {
	token, err := j.dec.Token()
	switch {
	case err != nil:
		return err
	case token == nil:
		return nil
	case token != open:
		return fmt.Errorf("json: %.40q instead of %v for a %v", fmt.Sprint(token), open, v.Type())
	}
	if err := inside(); err != nil {
		return err
	}
	_, err = j.dec.Token()
	return err
}

func (j reader) list(v reflect.Value, depth int) error {
	v.SetLen(0)
	for j.dec.More() {
		n := v.Len()
		if n == v.Cap() {
			v.Grow(max(1, n/2))
		}
		v.SetLen(n + 1)
		v.Index(n).SetZero()
		if err := j.value(v.Index(n), depth-1); err != nil {
			return err
		}
	}
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	return nil
}

func (j reader) object(v reflect.Value, depth int) error {
	fields := j.types.of(v.Type()).fields
	for j.dec.More() {
		token, err := j.dec.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == key })
		if at < 0 {
			at = slices.IndexFunc(fields, func(f field) bool { return strings.EqualFold(f.name, key) })
		}
		if at < 0 {
			var skipped skipped
			err = j.dec.Decode(&skipped)
		} else {
			err = j.value(v.FieldByIndex(fields[at].index), depth-1)
		}
		if err != nil {
			return fmt.Errorf("%.40s: %w", key, err)
		}
	}
	return nil
}

// skipped is a value that nobody wants.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }
