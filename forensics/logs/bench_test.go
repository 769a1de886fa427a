package logs

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// benchSize is how large a log the benchmarks read, in MiB: NODEFORENSICS_LOG_MIB=1024 for the size that the documents speak of.
func benchSize() int64 {
	if n, err := strconv.ParseInt(os.Getenv("NODEFORENSICS_LOG_MIB"), 10, 64); err == nil {
		return n << 20
	}
	return 32 << 20
}

func benchLog(b *testing.B) (path string, is truth) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "kubelet.log")
	f, err := os.Create(path)
	if err == nil {
		is, err = generate(f, benchSize())
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	return path, is
}

func onDisk(path string) Source {
	return Source{Path: path, Open: func(context.Context) (io.ReadCloser, error) { return os.Open(path) }}
}

func BenchmarkRead(b *testing.B) {
	path, is := benchLog(b)
	for b.Loop() {
		story := Read(b.Context(), []Source{onDisk(path)}, Options{Now: collected})
		f := story.Files[0]
		if f.Lines != is.lines {
			b.Fatalf("%+v", f)
		}
		b.ReportMetric(float64(f.Selected), "lines")
	}
}

func BenchmarkGrep(b *testing.B) {
	path, _ := benchLog(b)
	for b.Loop() {
		b.ReportMetric(float64(grepCount(b, "grep", path, literals())), "lines")
	}
}

// grepCount counts the lines that hold a word.
func grepCount(t testing.TB, program, path string, words []string) int64 {
	t.Helper()
	var quoted []string
	for _, w := range words {
		quoted = append(quoted, grepQuote.Replace(w))
	}
	cmd := exec.Command(program, "-a", "-cE", strings.Join(quoted, "|"), path)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(out)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var grepQuote = strings.NewReplacer(`\`, `\\`, `.`, `\.`, `(`, `\(`, `)`, `\)`, `[`, `\[`, `{`, `\{`, `*`, `\*`, `+`, `\+`, `?`, `\?`, `|`, `\|`, `^`, `\^`, `$`, `\$`)
