package live

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
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

// BenchmarkLatency measures what reading costs the program that is read: the 99.9th percentile of how late a busy program of 20,000
// goroutines wakes, over two seconds in which nobody reads it, and over two in which it is read without a pause. In a run's target, both
// differ by less than a millisecond. Our threads have the lowest priority, as in an examination. The medians are of all rounds (-benchtime 10x).
//
// That the program is not stopped meanwhile, and that we write nothing, strace(1) shows: while "strace -f -p PID" follows the program, it
// has no line with a signal or a stop; and that of
//
//	strace -f -e trace=ptrace,process_vm_writev,kill,tgkill,openat,pwrite64 nodeforensics goroutines --pid PID -o debug2
//
// has /proc/PID/mem with O_RDONLY, no pwrite64, signals to our own threads only (SIGURG), and no ptrace but PTRACE_TRACEME of children of
// our own, which count how many are to be had.
func BenchmarkLatency(b *testing.B) {
	const n, span = 20_000, "2s"
	cmd := exec.Command(compiled(b, "busy"), strconv.Itoa(n))
	out, err1 := cmd.StdoutPipe()
	in, err2 := cmd.StdinPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	lines.Scan() // it is ready
	window := func() float64 {
		if _, err := io.WriteString(in, span+"\n"); err != nil || !lines.Scan() {
			b.Fatal(err, lines.Err())
		}
		late, err := strconv.Atoi(lines.Text())
		if err != nil {
			b.Fatal(err)
		}
		return float64(late) / 1000
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range tasks { // an examination has the lowest priority, too
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, 19)
		}
	}
	var quiet, during []float64
	reads := 0
	for b.Loop() {
		quiet = append(quiet, window())
		ctx, stop := context.WithCancel(b.Context())
		done := make(chan error)
		go func() {
			var err error
			for ctx.Err() == nil && err == nil {
				if _, err = Read(ctx, cmd.Process.Pid, io.Discard); err == nil {
					reads++
				}
			}
			done <- err
		}()
		during = append(during, window())
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			b.Fatal(err)
		}
	}
	slices.Sort(quiet)
	slices.Sort(during)
	b.ReportMetric(quiet[len(quiet)/2], "us-alone")
	b.ReportMetric(during[len(during)/2], "us-read")
	b.ReportMetric(float64(reads)/float64(b.N), "reads/op")
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
	return built(tb, name, "", func(dir string) *exec.Cmd {
		return exec.Command("go", "build", "-ldflags", "-s -w -checklinkname=0", "-o", filepath.Join(dir, name), "./testdata/"+name)
	})
}
