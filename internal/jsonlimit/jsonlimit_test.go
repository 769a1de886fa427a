package jsonlimit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		in    string
		limit Reader
		want  string // the error; empty: none
	}{
		"levels":              {strings.Repeat("[", 65), Reader{}, "more than 64 levels"},
		"as many as allowed":  {strings.Repeat("[", 64) + strings.Repeat("]", 64), Reader{}, ""},
		"brackets in strings": {`["` + strings.Repeat(`[{\"`, 100) + `"]`, Reader{}, ""},
		"bytes":               {strings.Repeat(" ", 1000) + "1", Reader{Bytes: 1000}, "more than 0 MB of JSON"},
		"memory":              {"[" + strings.Repeat("{},", 100) + "{}]", Reader{Memory: 25_000}, "MB of memory"},
		"enough memory":       {"[" + strings.Repeat("{},", 100) + "{}]", Reader{Memory: 40_000}, ""},
		"item":                {`{"items":[{"a":"` + strings.Repeat("x", 1000) + `"}]}`, Reader{Item: 1000}, "an element of"},
		"many items":          {`{"items":[` + strings.Repeat(`{"a":"xxx"},`, 1000) + `{}]}`, Reader{Item: 1000}, ""},
		"a long name":         {`{"` + strings.Repeat("x", 1001) + `":1}`, Reader{Item: 1000}, "an element of"},
	} {
		for _, read := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
			limit := tt.limit
			limit.R = read(strings.NewReader(tt.in))
			got, err := io.ReadAll(&limit)
			switch {
			case tt.want == "" && (err != nil || !json.Valid(got)):
				t.Errorf("%s: %v, %.60s", name, err, got)
			case tt.want != "" && (!errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%s: %v, want %q", name, err, tt.want)
			}
		}
	}
}

// FuzzReader wants that what passes says the same.
func FuzzReader(f *testing.F) {
	f.Add("{ \"a\\\" \" :\n\t[1 , 2,\"x  y\" ] }  ")
	f.Add("1  2")
	f.Fuzz(func(t *testing.T, in string) {
		got, err := io.ReadAll(&Reader{R: strings.NewReader(in)})
		if err != nil {
			return
		}
		var a, b bytes.Buffer
		if json.Compact(&a, []byte(in)) != nil {
			if json.Valid(got) {
				t.Errorf("%q became valid: %q", in, got)
			}
			return
		}
		if err := json.Compact(&b, got); err != nil || a.String() != b.String() {
			t.Errorf("%q became %q: %v", in, got, err)
		}
	})
}
