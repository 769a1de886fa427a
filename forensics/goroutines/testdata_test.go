package goroutines

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// captures are dumps of real kubelets, each in three forms taken within a second.
var captures = []string{"kubelet-1.17.4-hung-cephfs", "kubelet-1.34.4-hung-csi", "kubelet-1.34.4-runtime-stopped"}

// readFixture returns a file below testdata, decompressed.
func readFixture(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	data, err = io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// parseOne parses an input that must hold one dump and no problem.
func parseOne(tb testing.TB, data []byte) Dump {
	tb.Helper()
	dumps, problems, err := Parse(bytes.NewReader(data))
	if err != nil || len(problems) > 0 || len(dumps) != 1 {
		tb.Fatalf("got %d dumps, problems %v, error %v; want one dump", len(dumps), problems, err)
	}
	return dumps[0]
}

// parseText parses lines and fails on a read error only.
func parseText(tb testing.TB, lines ...string) ([]Dump, []Problem) {
	tb.Helper()
	dumps, problems, err := Parse(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		tb.Fatal(err)
	}
	return dumps, problems
}

// withoutLines returns a copy of d whose goroutines do not say where they stood.
func withoutLines(d Dump) Dump {
	d.Goroutines = append([]Goroutine{}, d.Goroutines...)
	for i := range d.Goroutines {
		d.Goroutines[i].Line = 0
	}
	return d
}

// find returns the first goroutine with a call of a function.
func find(tb testing.TB, d Dump, function string) Goroutine {
	tb.Helper()
	for _, g := range d.Goroutines {
		for _, f := range g.Frames {
			if f.Func == function {
				return g
			}
		}
	}
	tb.Fatalf("no goroutine calls %s", function)
	return Goroutine{}
}

func diff(tb testing.TB, what string, want, got any) {
	tb.Helper()
	if d := cmp.Diff(want, got); d != "" {
		tb.Errorf("%s differs (-want +got):\n%s", what, d)
	}
}
