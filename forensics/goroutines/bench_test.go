package goroutines

import (
	"bytes"
	"io"
	"testing"
)

// benchDump is 16 MiB of goroutines of a real kubelet.
func benchDump(b *testing.B) []byte {
	b.Helper()
	data, err := io.ReadAll(newRepeater(readFixture(b, captures[1]+"/debug2.txt.gz"), 16<<20))
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func BenchmarkParse(b *testing.B) {
	data := benchDump(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		dumps, problems, err := Parse(bytes.NewReader(data))
		if err != nil || len(problems) > 0 || len(dumps) != 1 {
			b.Fatal(len(dumps), problems, err)
		}
	}
}

// A dump is digested and grouped, as the program does it.
func BenchmarkGroups(b *testing.B) {
	data := benchDump(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		dumps, problems, err := Digester{}.Digest(bytes.NewReader(data))
		if err != nil || len(problems) > 0 || len(dumps) != 1 || len(GroupBy(dumps[0])) == 0 {
			b.Fatal(len(dumps), problems, err)
		}
	}
}

// A dump in the journal: each line behind a prefix.
func BenchmarkParseJournal(b *testing.B) {
	data := dress(benchDump(b), dressings[0].line)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if dumps, problems, err := Parse(bytes.NewReader(data)); err != nil || len(problems) > 0 || len(dumps) != 1 {
			b.Fatal(len(dumps), problems, err)
		}
	}
}

func BenchmarkRoleOf(b *testing.B) {
	d := parseOne(b, readFixture(b, captures[1]+"/debug2.txt.gz"))
	for b.Loop() {
		for _, g := range d.Goroutines {
			RoleOf(g)
		}
	}
}
