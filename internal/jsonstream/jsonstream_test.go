package jsonstream_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/jsonlimit"
	"github.com/nodeforensics/nodeforensics/internal/jsonstream"
	"github.com/nodeforensics/nodeforensics/report"
)

// What is written and read piece by piece is what encoding/json writes and reads as a whole.
func TestPiecesAreTheWhole(t *testing.T) {
	files, err := filepath.Glob("../../report/testdata/*.json")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var whole, pieces report.Report
		if err := json.Unmarshal(text, &whole); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := jsonstream.Read(bytes.NewReader(text), &pieces); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(whole, pieces, cmpopts.IgnoreUnexported(report.Report{})); diff != "" {
			t.Errorf("%s (-whole +pieces):\n%s", name, diff)
		}
		for _, arrays := range []bool{false, true} {
			want := whole
			if arrays {
				want = jsonstream.Emptied(whole).(report.Report)
			}
			var a, b bytes.Buffer
			enc := json.NewEncoder(&a)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", " ")
			if err := errors.Join(enc.Encode(want), jsonstream.Write(&b, whole, arrays)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%s, arrays %v: %s", name, arrays, cmp.Diff(strings.Split(a.String(), "\n"), strings.Split(b.String(), "\n")))
			}
		}
	}
}

// Every shape that a part of the evidence can have is written as encoding/json writes it.
func TestPiecesOfEveryShape(t *testing.T) {
	type inner struct {
		A string `json:"a,omitempty"`
		B []int  `json:"b"`
	}
	type embedded struct {
		E *inner            `json:"e,omitempty"`
		M map[string]string `json:"m"`
	}
	type all struct {
		embedded
		Named  []inner        `json:"named"`
		Null   *inner         `json:"null"`
		Deep   [][]inner      `json:"deep"`
		Raw    any            `json:"raw,omitempty"`
		Hidden string         `json:"-"`
		Zero   map[string]int `json:"zero,omitzero"`
		Plain  int
	}
	for _, v := range []all{
		{},
		{Named: []inner{}, Plain: 7, Hidden: "x"},
		{embedded: embedded{E: &inner{A: "<&>\u009b"}}, Named: []inner{{}, {B: []int{1}}}, Deep: [][]inner{{{A: "x"}}, nil}, Raw: inner{}},
	} {
		var a, b bytes.Buffer
		enc := json.NewEncoder(&a)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := errors.Join(enc.Encode(v), jsonstream.Write(&b, v, false)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a.String(), b.String()); diff != "" {
			t.Errorf("(-whole +pieces):\n%s", diff)
		}
		var whole, pieces all
		if err := errors.Join(json.Unmarshal(a.Bytes(), &whole), jsonstream.Read(&b, &pieces)); err != nil {
			t.Error(err)
		}
		if !reflect.DeepEqual(whole, pieces) {
			t.Errorf("read %+v, want %+v", pieces, whole)
		}
	}
}

// What would fill the memory is refused with the reason.
func TestTooLargeToRead(t *testing.T) {
	many := func(text string, n int) io.Reader {
		readers := make([]io.Reader, n)
		for i := range readers {
			readers[i] = strings.NewReader(strings.Repeat(text, 10_000))
		}
		return io.MultiReader(readers...)
	}
	for name, in := range map[string]struct {
		start string
		rest  io.Reader
		want  string
	}{
		"levels":        {`{"evidence":{"pods":`, many("[", 1), "more than 64 levels"},
		"unknown field": {`{"unknown":`, many(`{"a":`, 1), "more than 64 levels"},
		"empty objects": {`{"evidence":{"pods":[{}`, many(",{}", 2000), "MB of memory"},
		"text":          {`{"schema":"`, many("0123456789", 1000), "more than 64 MB"},
		"blanks":        {``, many("          ", 1000), "more than 64 MB"},
	} {
		var r report.Report
		err := jsonstream.Read(io.MultiReader(strings.NewReader(in.start), in.rest), &r)
		if !errors.Is(err, jsonlimit.ErrTooLarge) || !strings.Contains(err.Error(), in.want) {
			t.Errorf("%s: %v, want %q", name, err, in.want)
		}
	}
	var e forensics.Evidence
	if err := jsonstream.Read(strings.NewReader(`{"schema":"x"} {}`), &e); err == nil || errors.Is(err, jsonlimit.ErrTooLarge) {
		t.Errorf("two documents: %v", err)
	}
}
