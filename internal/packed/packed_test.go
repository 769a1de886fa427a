package packed

import (
	"reflect"
	"strings"
	"testing"
)

func TestPacked(t *testing.T) {
	text := []byte(strings.Repeat("a text of the program\n", 100))
	packed, err := Pack(text)
	if err != nil || len(packed) > len(text)/5 || string(Text(string(packed))) != string(text) {
		t.Errorf("%d bytes for %d, %v", len(packed), len(text), err)
	}
	if again, err := Pack(text); err != nil || string(again) != string(packed) {
		t.Errorf("packed again, it is another one: %v", err)
	}
	for _, damaged := range []string{"", "x", string(packed[:len(packed)-9])} {
		if got := Text(damaged); got != nil {
			t.Errorf("%d damaged bytes give %d", len(damaged), len(got))
		}
	}
}

func TestFiles(t *testing.T) {
	want := []File{{"b.1", "second\n"}, {"a.1", ""}}
	packed, err := PackFiles(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Files(string(packed)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Files("x"); err == nil {
		t.Errorf("damaged: %q", got)
	}
}
