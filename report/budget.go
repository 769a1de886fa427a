package report

import (
	"reflect"
	"strings"
)

// budget is the bytes that a part of the page may still take.
type budget int

// fits subtracts the cost of a row, its escaped text and its markup, and says whether the budget was sufficient.
func (b *budget) fits(row any, markup int) bool {
	cost := weigh(reflect.ValueOf(row)) + markup
	if cost > int(*b) {
		*b = 0 // the page has the first rows, not a selection of short ones
		return false
	}
	*b -= budget(cost)
	return true
}

// weigh adds up the text below v, as long as html/template makes it.
func weigh(v reflect.Value) int {
	switch v.Kind() {
	case reflect.String:
		return escapedLen(v.String())
	case reflect.Slice:
		total := 0
		for i := range v.Len() {
			total += weigh(v.Index(i)) + 16
		}
		return total
	case reflect.Struct:
		total := 0
		for i := range v.NumField() {
			total += weigh(v.Field(i))
		}
		return total
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return weigh(v.Elem()) + 16
	case reflect.Int, reflect.Float64:
		return 6
	}
	return 0
}

// escapedLen is the length of s behind html/template's escaping of text and attributes.
func escapedLen(s string) int {
	n := len(s)
	for i := range len(s) {
		switch s[i] {
		case '<', '>':
			n += 3
		case '&', '"', '\'', '+', '`', '=':
			n += 4
		}
	}
	return n
}

func joinComma(list []string) string { return strings.Join(list, ", ") }
