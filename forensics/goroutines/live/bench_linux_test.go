package live

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// BenchmarkRead reads programs of 200 and 100,000 goroutines, each in eight calls of several kinds: a run's target is 50 ms and 1 s.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{200, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			pid := many(b, n)
			for b.Loop() {
				info, err := Read(b.Context(), pid, io.Discard)
				if err != nil || info.Goroutines < n || info.Unread > 0 {
					b.Fatal(info.Goroutines, info.Unread, err)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapSys)/(1<<20), "heap-MiB")
		})
	}
}

// many starts a program with so many goroutines.
func many(tb testing.TB, n int) int {
	tb.Helper()
	cmd := exec.Command(compiled(tb, "many"), strconv.Itoa(n))
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		tb.Fatal(line, err)
	}
	return cmd.Process.Pid
}

// compiled is a program of testdata.
func compiled(tb testing.TB, name string) string {
	tb.Helper()
	program := filepath.Join(tb.TempDir(), name)
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "./testdata/"+name).CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return program
}
