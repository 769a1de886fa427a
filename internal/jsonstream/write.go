package jsonstream

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
)

// Write writes v as a json.Encoder with an indentation of one space and without escaped markup would. With arrays, lists and
// maps that are nil are empty, so that there is no null for them.
func Write(w io.Writer, v any, arrays bool) error {
	j := writer{w: w, arrays: arrays, types: types{}}
	j.value(reflect.ValueOf(v), "", maxDepth)
	j.text("\n")
	return j.err
}

// A writer writes what a json.Encoder with an indentation of one space and without escaped markup would write.
type writer struct {
	w      io.Writer
	arrays bool // lists that are nil are empty
	piece  bytes.Buffer
	types  types
	err    error
}

func (j *writer) text(s string) {
	if j.err == nil {
		_, j.err = io.WriteString(j.w, s)
	}
}

// value writes v, the further lines of which begin with prefix.
func (j *writer) value(v reflect.Value, prefix string, depth int) {
	switch {
	case depth == 0 || j.err != nil:
	case v.Kind() == reflect.Pointer && !v.IsNil() && j.types.of(v.Type().Elem()).byField:
		j.value(v.Elem(), prefix, depth)
		return
	case v.Kind() == reflect.Slice && v.Len() > 0 && j.types.of(v.Type().Elem()).byField:
		j.text("[\n")
		for i := range v.Len() {
			j.next(i > 0, prefix)
			j.value(v.Index(i), prefix+" ", depth-1)
		}
		j.text("\n" + prefix + "]")
		return
	case j.types.of(v.Type()).byField:
		j.object(v, prefix, depth)
		return
	}
	j.whole(v, prefix)
}

func (j *writer) next(comma bool, prefix string) {
	if comma {
		j.text(",\n")
	}
	j.text(prefix + " ")
}

func (j *writer) object(v reflect.Value, prefix string, depth int) {
	written := false
	for _, f := range j.types.of(v.Type()).fields {
		field := v.FieldByIndex(f.index)
		if f.omitEmpty && isEmpty(field) {
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
func (j *writer) whole(v reflect.Value, prefix string) {
	if j.err != nil {
		return
	}
	if j.arrays {
		v, _ = emptied(v)
	}
	j.piece.Reset()
	enc := json.NewEncoder(&j.piece)
	enc.SetEscapeHTML(false)
	if !j.types.of(v.Type()).oneLine {
		enc.SetIndent(prefix, " ")
	}
	if j.err = enc.Encode(v.Interface()); j.err == nil {
		_, j.err = j.w.Write(bytes.TrimSuffix(j.piece.Bytes(), []byte("\n")))
	}
}

// isEmpty is what omitempty leaves out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
