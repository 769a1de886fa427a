package read

import (
	"reflect"
	"testing"
	"unsafe"
)

// TestTakeTakesAll fills each field of what a text says of the system: joined with what others say, none may be lost.
func TestTakeTakesAll(t *testing.T) {
	var from, to systemText
	fillAll(reflect.ValueOf(&from).Elem())
	to.take(&from)
	v := reflect.ValueOf(&to).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s is lost", v.Type().Field(i).Name)
		}
	}
}

// fillAll gives a value, and what is in it, something that is not zero.
func fillAll(v reflect.Value) {
	v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem() // also of fields that are not exported
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillAll(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillAll(key)
		fillAll(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	}
}
