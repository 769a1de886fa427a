package jsonstream

import "reflect"

// Emptied is v with empty lists and maps for those that are nil.
func Emptied(v any) any {
	e, _ := emptied(reflect.ValueOf(v))
	return e.Interface()
}
