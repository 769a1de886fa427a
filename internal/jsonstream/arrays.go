package jsonstream

import "reflect"

// emptied returns v with empty lists and maps for those that are nil, so that its JSON has no null, and whether there were
// any. What is nil nowhere below is shared with v, which stays as it is.
func emptied(v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.Struct:
		return emptiedParts(v, v.NumField(), func() reflect.Value { return reflect.New(v.Type()).Elem() }, reflect.Value.Field)
	case reflect.Slice:
		if v.IsNil() {
			return reflect.MakeSlice(v.Type(), 0, 0), true
		}
		if isPlain(v.Type().Elem()) {
			return v, false
		}
		return emptiedParts(v, v.Len(), func() reflect.Value { return reflect.MakeSlice(v.Type(), v.Len(), v.Len()) }, reflect.Value.Index)
	case reflect.Map:
		if v.IsNil() {
			return reflect.MakeMap(v.Type()), true
		}
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		inner, changed := emptied(v.Elem())
		if !changed {
			return v, false
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(inner)
		return p, true
	}
	return v, false
}

// emptiedParts does it for fields or elements; the copy is made when the first of them has changed.
func emptiedParts(v reflect.Value, n int, make func() reflect.Value, part func(reflect.Value, int) reflect.Value) (reflect.Value, bool) {
	out, copied := v, false
	for i := range n {
		p := part(v, i)
		if !p.CanInterface() {
			continue // of time.Time
		}
		inner, changed := emptied(p)
		if !changed {
			continue
		}
		if !copied {
			out, copied = make(), true
			if v.Kind() == reflect.Slice {
				reflect.Copy(out, v)
			} else {
				out.Set(v)
			}
		}
		part(out, i).Set(inner)
	}
	return out, copied
}

func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Map, reflect.Pointer:
		return false
	}
	return true
}
