package forensics

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ToValidUTF8 is s with each byte that is no UTF-8 as `\xff`, which is how JSON can have it. File names are bytes to the
// kernel, and often in an encoding of old. What is valid stays as it is, also a name with a backslash of its own.
func ToValidUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if _, size := utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// escapedByte is what [ToValidUTF8] writes.
var escapedByte = regexp.MustCompile(`\\x[89a-f][0-9a-f]`)

// FromValidUTF8 undoes [ToValidUTF8]. A name that has such an escape of its own, which no common program makes, comes back
// wrong: as one that is not there.
func FromValidUTF8(s string) string {
	return escapedByte.ReplaceAllStringFunc(s, func(escape string) string {
		b, _ := strconv.ParseUint(escape[2:], 16, 8)
		return string([]byte{byte(b)})
	})
}

// ToValidUTF8 applies the function [ToValidUTF8] to every string of the evidence but words of the kernel, of Go and of
// Kubernetes. Do so before [Analyze] where evidence and verdicts are to be stored as JSON: that would replace those bytes,
// and names that differ become the same.
func (e *Evidence) ToValidUTF8() {
	v, changed := mapStrings(reflect.ValueOf(*e), "", func(_, s string) string { return ToValidUTF8(s) })
	if changed {
		*e = v.Interface().(Evidence)
	}
}
