// Package jsonstream writes and reads large values as JSON piece by piece: encoding/json builds the whole text in memory, and
// reads it all before it decodes.
package jsonstream

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// maxDepth is how many levels of structs and lists are written and read field by field: a goroutine in a dump of the evidence of a report is
// the sixth.
const maxDepth = 6

// A typeInfo is what is to be known of a type, of which there may be a million values.
type typeInfo struct {
	byField, oneLine bool    // see isByField and isOneLine
	fields           []field // of a type that is written field by field
}

// types are those of one document, as far as they were met.
type types map[reflect.Type]*typeInfo

func (all types) of(t reflect.Type) *typeInfo {
	known := all[t]
	if known == nil {
		known = &typeInfo{byField: isByField(t), oneLine: isOneLine(t)}
		if known.byField {
			known.fields = fieldsOf(t)
		}
		all[t] = known
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

// A field is a field of a struct, or of one that is embedded in it.
type field struct {
	name      string
	index     []int
	omitEmpty bool
}

// fieldsOf are the fields that encoding/json would write, in its order. The names are ASCII.
func fieldsOf(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				all = append(all, inner)
			}
		case f.IsExported() && name != "-":
			if name == "" {
				name = f.Name
			}
			all = append(all, field{name, []int{i}, options == "omitempty"})
		}
	}
	return sorting.Delete(all, func(f field) bool { // a field hides one of the same name in what is embedded
		return len(f.index) > 1 && slices.ContainsFunc(all, func(o field) bool { return o.name == f.name && len(o.index) < len(f.index) })
	})
}

// isByField says whether a type is a struct that can be written and read field by field, by tags that fieldsOf knows.
func isByField(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[json.Marshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options != "" && options != "omitempty" || f.Anonymous && (name != "" || !isByField(f.Type)) {
			return false
		}
	}
	return true
}
