package report

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// This file writes and reads large values as JSON piece by piece: encoding/json builds the whole text in memory, and reads
// it all before it decodes.

// streamDepth is how many levels of structs and lists are taken apart: a goroutine in a dump of the evidence of a report is
// the sixth.
const streamDepth = 6

// A jsonWriter writes what a json.Encoder with an indentation of one space and without escaped markup would write.
type jsonWriter struct {
	w      io.Writer
	arrays bool // lists that are nil are empty
	piece  bytes.Buffer
	types  map[reflect.Type]*jsonType
	err    error
}

// A jsonType is what is to be known of a type, of which there may be a million values.
type jsonType struct {
	apart, oneLine bool        // see isTakenApart and isOneLine
	fields         []jsonField // of a type that is taken apart
}

func (j *jsonWriter) typeOf(t reflect.Type) *jsonType {
	known := j.types[t]
	if known == nil {
		known = &jsonType{apart: isTakenApart(t), oneLine: isOneLine(t)}
		if known.apart {
			known.fields = jsonFields(t)
		}
		if j.types == nil {
			j.types = map[reflect.Type]*jsonType{}
		}
		j.types[t] = known
	}
	return known
}

// isOneLine says whether all values of a type stand on one line, as encoding/json writes them.
func isOneLine(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint64, reflect.Float64:
		return !t.Implements(reflect.TypeFor[json.Marshaler]()) && !t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	}
	return false
}

func (j *jsonWriter) text(s string) {
	if j.err == nil {
		_, j.err = io.WriteString(j.w, s)
	}
}

// value writes v, the further lines of which begin with prefix.
func (j *jsonWriter) value(v reflect.Value, prefix string, depth int) {
	switch {
	case depth == 0 || j.err != nil:
	case v.Kind() == reflect.Pointer && !v.IsNil() && j.typeOf(v.Type().Elem()).apart:
		j.value(v.Elem(), prefix, depth)
		return
	case v.Kind() == reflect.Slice && v.Len() > 0 && j.typeOf(v.Type().Elem()).apart:
		j.text("[\n")
		for i := range v.Len() {
			j.next(i > 0, prefix)
			j.value(v.Index(i), prefix+" ", depth-1)
		}
		j.text("\n" + prefix + "]")
		return
	case j.typeOf(v.Type()).apart:
		j.object(v, prefix, depth)
		return
	}
	j.whole(v, prefix)
}

func (j *jsonWriter) next(comma bool, prefix string) {
	if comma {
		j.text(",\n")
	}
	j.text(prefix + " ")
}

func (j *jsonWriter) object(v reflect.Value, prefix string, depth int) {
	written := false
	for _, f := range j.typeOf(v.Type()).fields {
		field := v.FieldByIndex(f.index)
		if f.omitEmpty && isEmptyJSON(field) {
			continue
		}
		if !written {
			j.text("{\n")
		}
		j.next(written, prefix)
		written = true
		j.text(`"` + f.name + `": `)
		j.value(field, prefix+" ", depth-1)
	}
	if !written {
		j.text("{}")
		return
	}
	j.text("\n" + prefix + "}")
}

// whole writes a value in one piece.
func (j *jsonWriter) whole(v reflect.Value, prefix string) {
	if j.err != nil {
		return
	}
	if j.arrays {
		v, _ = emptied(v)
	}
	j.piece.Reset()
	enc := json.NewEncoder(&j.piece)
	enc.SetEscapeHTML(false)
	if !j.typeOf(v.Type()).oneLine {
		enc.SetIndent(prefix, " ")
	}
	if j.err = enc.Encode(v.Interface()); j.err == nil {
		_, j.err = j.w.Write(bytes.TrimSuffix(j.piece.Bytes(), []byte("\n")))
	}
}

// A jsonField is a field of a struct, or of one that is embedded in it.
type jsonField struct {
	name      string
	index     []int
	omitEmpty bool
}

// jsonFields are the fields that encoding/json would write, in its order. Names of types that are taken apart are ASCII.
func jsonFields(t reflect.Type) []jsonField {
	var all []jsonField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for _, inner := range jsonFields(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				all = append(all, inner)
			}
		case f.IsExported() && name != "-":
			if name == "" {
				name = f.Name
			}
			all = append(all, jsonField{name, []int{i}, options == "omitempty"})
		}
	}
	return all
}

// isTakenApart says whether a type is a struct that JSON has as an object of its fields, by tags that jsonFields knows.
func isTakenApart(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[json.Marshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options != "" && options != "omitempty" || f.Anonymous && (name != "" || !isTakenApart(f.Type)) {
			return false
		}
	}
	return true
}

// isEmptyJSON is what omitempty leaves out.
func isEmptyJSON(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// A jsonReader decodes one document as encoding/json would, with the memory of its largest piece.
type jsonReader struct{ dec *json.Decoder }

// value decodes into v, which is settable.
func (j jsonReader) value(v reflect.Value, depth int) error {
	switch {
	case depth == 0:
	case v.Kind() == reflect.Pointer && isTakenApart(v.Type().Elem()):
		return j.bracket('{', v, func() error {
			v.Set(reflect.New(v.Type().Elem()))
			return j.object(v.Elem(), depth)
		})
	case v.Kind() == reflect.Slice && isTakenApart(v.Type().Elem()):
		return j.bracket('[', v, func() error { return j.list(v, depth) })
	case isTakenApart(v.Type()):
		return j.bracket('{', v, func() error { return j.object(v, depth) })
	}
	return j.dec.Decode(v.Addr().Interface())
}

// bracket reads the beginning of a list or object, or null.
func (j jsonReader) bracket(open json.Delim, v reflect.Value, inside func() error) error {
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

func (j jsonReader) list(v reflect.Value, depth int) error {
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

func (j jsonReader) object(v reflect.Value, depth int) error {
	fields := jsonFields(v.Type())
	for j.dec.More() {
		token, err := j.dec.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		at := -1
		for i := range fields {
			if fields[i].name == key || at < 0 && strings.EqualFold(fields[i].name, key) {
				at = i
			}
		}
		if at < 0 {
			var skipped skippedJSON
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

// skippedJSON is a value that nobody wants.
type skippedJSON struct{}

func (*skippedJSON) UnmarshalJSON([]byte) error { return nil }
