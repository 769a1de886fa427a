// Package bench compares goroutines with its peers on the same input. It is a
// module of its own so that they are no dependency of the project:
//
//	cd forensics/goroutines/internal/bench && go test -bench . -benchmem
package bench

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"

	"github.com/DataDog/gostackparse"
	"github.com/maruel/panicparse/v2/stack"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// size of the dump in bytes.
const size = 100 << 20

// dump is the dump of a real kubelet, repeated, with numbers that differ, as
// if it had leaked goroutines.
func dump(b *testing.B) []byte {
	b.Helper()
	f, err := os.Open("../../testdata/kubelet-1.34.4-hung-csi/debug2.txt.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	one, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	return repeat(one, size)
}

func BenchmarkStackdumpParse(b *testing.B) {
	data := dump(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		dumps, problems, err := goroutines.Parse(bytes.NewReader(data))
		if err != nil || len(problems) > 0 || len(dumps) != 1 {
			b.Fatal(len(dumps), problems, err)
		}
	}
}

func BenchmarkStackdumpGroups(b *testing.B) {
	data := dump(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		dumps, problems, err := goroutines.Digester{}.Digest(bytes.NewReader(data))
		if err != nil || len(problems) > 0 || len(dumps) != 1 || len(goroutines.GroupBy(dumps[0])) == 0 {
			b.Fatal(len(dumps), problems, err)
		}
	}
}

func BenchmarkGostackparse(b *testing.B) {
	data := dump(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if goroutines, _ := gostackparse.Parse(bytes.NewReader(data)); len(goroutines) == 0 {
			b.Fatal("no goroutines")
		}
	}
}

func BenchmarkPanicparse(b *testing.B) {
	data := dump(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s, _, err := stack.ScanSnapshot(bytes.NewReader(data), io.Discard, stack.DefaultOpts())
		if s == nil || len(s.Goroutines) == 0 {
			b.Fatal(err)
		}
	}
}
