package eviction

import (
	"math"
	"testing"
)

func TestParseQuantity(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       int64
		bad        bool
	}{
		{name: "bytes", text: "1024", want: 1024},
		{name: "binary", text: "100Mi", want: 100 << 20},
		{name: "largest binary suffix", text: "1Ei", want: 1 << 60},
		{name: "decimal", text: "1.5G", want: 1_500_000_000},
		{name: "decimal k is small", text: "2k", want: 2000},
		{name: "point first", text: ".5Gi", want: 1 << 29},
		{name: "point last", text: "5.Ki", want: 5120},
		{name: "exponent", text: "5e8", want: 500_000_000},
		{name: "capital exponent", text: "12E2", want: 1200},
		{name: "E alone is exa", text: "1E", want: 1_000_000_000_000_000_000},
		{name: "negative exponent is rounded up", text: "15e-1", want: 2},
		{name: "milli is rounded up", text: "1m", want: 1},
		{name: "sign", text: "+1Ki", want: 1024},
		{name: "negative", text: "-1Ki", want: -1024},
		{name: "zero", text: "0", want: 0},
		{name: "too large is the largest", text: "100Ei", want: math.MaxInt64},
		{name: "exponent without end", text: "1e99999999999999999999", want: math.MaxInt64},
		{name: "tiny", text: "1e-99999999999999999999", want: 1},
		{name: "capital K is none", text: "1K", bad: true},
		{name: "lower g is none", text: "1g", bad: true},
		{name: "GB is none", text: "1GB", bad: true},
		{name: "space", text: "1 Gi", bad: true},
		{name: "percentage", text: "10%", bad: true},
		{name: "empty", text: "", bad: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseQuantity(tt.text)
			if (err != nil) != tt.bad || got != tt.want {
				t.Errorf("ParseQuantity(%q) = %d, %v; want %d, error %v", tt.text, got, err, tt.want, tt.bad)
			}
		})
	}
}

func FuzzParseQuantity(f *testing.F) {
	for _, seed := range []string{"100Mi", "1.5G", "5e8", "-1Ki", "1E-3", "..", "e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseQuantity(text)
		if err != nil && n != 0 {
			t.Errorf("ParseQuantity(%q) = %d with %v", text, n, err)
		}
		if again, err2 := parseQuantity(text + "Ki"); err == nil && err2 == nil && n > 0 && again < n {
			t.Errorf("%q is %d, and 1024 times that is %d", text, n, again)
		}
	})
}
