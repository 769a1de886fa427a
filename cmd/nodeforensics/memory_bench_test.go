package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fileMemory is what any command on saved files may take.
const fileMemory = 256 << 20

// BenchmarkMemory runs the program as a user does, over inputs that are made for it, and prints for each the largest
// resident set of its processes and the time: MiB is that of the program or, if that is larger, of the child that writes
// its files; child-MiB that of the child that collects, in a live run.
//
//	go test ./cmd/nodeforensics -run '^$' -bench Memory -benchtime 1x -timeout 1h
//
// It wants 1.1 GB of disk for the largest input.
func BenchmarkMemory(b *testing.B) {
	tooLarge := 0
	for _, in := range memoryInputs() {
		b.Run(in.name, func(b *testing.B) {
			for b.Loop() {
				peak, took, status, said := in.run(b)
				if status != exitDone {
					b.Logf("exit status %d: %s", status, said)
				}
				b.ReportMetric(float64(peak)/(1<<20), "MiB")
				b.ReportMetric(took.Seconds(), "s")
				b.ReportMetric(float64(status), "exit-status")
				b.ReportMetric(0, "ns/op")
				if peak > fileMemory { // said at the end: a benchmark that fails prints no figures
					tooLarge++
				}
			}
		})
	}
	b.Run("live", benchmarkLiveMemory)
	if tooLarge > 0 {
		b.Errorf("%d inputs took more than %d MiB", tooLarge, int64(fileMemory)>>20)
	}
}

// TestMemory holds a few small inputs of BenchmarkMemory to the limit, and to what is said of those that are refused.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 160 MB")
	}
	t.Parallel()
	for _, tt := range []struct {
		in    memoryInput
		limit int64
		says  string // empty: all of it is read
		done  bool   // a part of it is read
	}{
		{memoryInput{"dump", 40 * mb, debug2(different), []string{"analyze"}}, 96 << 20, "", true},
		{memoryInput{"dumps", 20 * mb, manyDumps, []string{"goroutines"}}, 96 << 20, "the dump is truncated", true},
		{memoryInput{"report", 8 * mb, savedReport, []string{"render"}}, 64 << 20, "", true},
		{memoryInput{"report of empty pods", 5 * mb, hollowReport, []string{"plan"}}, fileMemory, "5.0 MB: report: evidence: pods: too large: ", false},
		{memoryInput{"large report", 66 * mb, repeated(`{"schema":"nodeforensics.report/v2","x":"`, "0123456789"), []string{"analyze"}}, fileMemory, "66.0 MB: report: x: too large: more than 64 MB of JSON", false},
		{memoryInput{"brackets", 30 * mb, repeated(`{"kind":"PodList","items":`, "["), []string{"analyze"}}, 64 << 20, "input: too large: JSON of more than 64 levels", false},
	} {
		peak, took, status, said := tt.in.run(t)
		t.Logf("%s: %d MiB, %v", tt.in.name, peak>>20, took)
		if !raceEnabled && peak > tt.limit {
			t.Errorf("%s: %d MiB at the peak, want at most %d", tt.in.name, peak>>20, tt.limit>>20)
		}
		if tt.done != (status == exitDone) || tt.says == "" && said != "" || !strings.Contains(said, tt.says) {
			t.Errorf("%s: exit status %d, %q, want %q", tt.in.name, status, said, tt.says)
		}
	}
}

// A memoryInput is one file and the command that reads it.
type memoryInput struct {
	name  string
	size  int64
	write func(w *bufio.Writer, size int64) error
	args  []string // before the file's name
}

// run returns the largest resident set in bytes, how long the program ran, its exit status and what it complained of. Input
// that is refused is an answer, too.
func (in memoryInput) run(b testing.TB) (peak int64, took time.Duration, status int, said string) {
	b.Helper()
	name := in.make(b)
	defer func() { _ = os.Remove(name) }()
	cmd := exec.Command(program(b, programName), append(slices.Clone(in.args), name)...)
	cmd.Dir = b.TempDir()
	peakOf := measured(b, cmd)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Run(); cmd.ProcessState == nil {
		b.Fatal(err)
	}
	took, status = time.Since(began), cmd.ProcessState.ExitCode()
	return peakOf(), took, status, strings.TrimSpace(stderr.String())
}

func (in memoryInput) make(b testing.TB) string {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "input"))
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for _, err := range []error{in.write(w, in.size), w.Flush(), f.Close()} {
		if err != nil {
			b.Fatal(err)
		}
	}
	return f.Name()
}

// measured lets a command be started by a process of its own, and returns what tells its largest resident set in bytes when
// it has ended.
func measured(b testing.TB, cmd *exec.Cmd) (peak func() int64) {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	name := filepath.Join(b.TempDir(), "peak")
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, measureEnv+"="+name)
	cmd.Path, cmd.Args = exe, append([]string{exe, cmd.Path}, cmd.Args[1:]...)
	return func() int64 {
		bytes, err := strconv.ParseInt(readFile(b, name), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return bytes
	}
}

// measureEnv makes a copy of the test binary run a program and write its largest resident set into a file. Linux counts as a
// program's own what the process had that started it, which is little for a copy that has done nothing else.
const measureEnv = "NODEFORENSICS_TEST_MEASURE"

func measureMain() {
	name := os.Getenv(measureEnv)
	if name == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), memoryPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	status := exitFailed
	_ = cmd.Run() // its status says how it went
	if cmd.ProcessState != nil && os.WriteFile(name, strconv.AppendInt(nil, peakMemory(cmd.ProcessState), 10), 0o600) == nil {
		status = cmd.ProcessState.ExitCode()
	}
	os.Exit(status & 0xff)
}

// memoryPatience is how long one input may take. What takes longer is ended, and its exit status is 255.
const memoryPatience = 4 * time.Minute

const mb = 1_000_000

// memoryInputs are the inputs of BenchmarkMemory.
func memoryInputs() []memoryInput {
	var all []memoryInput
	for _, size := range []int64{10 * mb, 100 * mb, 250 * mb} {
		for _, d := range dumpShapes() {
			for _, command := range [][]string{{"goroutines", "-o", "json"}, {"analyze"}} {
				if d.debug0 && size > 100*mb {
					continue // no kubelet can write one, see maxProtobuf
				}
				all = append(all, memoryInput{fmt.Sprintf("%s/%s/%dMB", command[0], d.name, size/mb), size, d.write, command})
			}
		}
	}
	analyze, render, plan := []string{"analyze"}, []string{"render"}, []string{"plan"}
	return append(all,
		memoryInput{"goroutines/different-html/250MB", 250 * mb, debug2(different), []string{"goroutines", "--html", "page.html", "--pprof", "out.pb.gz"}},
		memoryInput{"analyze/kubelet-pods/100MB", 100 * mb, listedPods, analyze},
		memoryInput{"analyze/kubectl-pods/350MB", 350 * mb, kubectlPods, analyze},
		memoryInput{"analyze/log/1000MB", 1000 * mb, kubeletLog, analyze},
		memoryInput{"analyze/shuffled-logs-in-a-tar.gz/100MB", 100 * mb, shuffledLogs, analyze},
		memoryInput{"analyze/mountinfo/100MB", 100 * mb, mountTable, analyze},
		memoryInput{"analyze/report/10MB", 10 * mb, savedReport, analyze},
		memoryInput{"analyze/report/30MB", 30 * mb, savedReport, analyze},
		memoryInput{"analyze/report/100MB", 100 * mb, savedReport, analyze},
		memoryInput{"render/report/10MB", 10 * mb, savedReport, render},
		memoryInput{"render/report/30MB", 30 * mb, savedReport, render},
		memoryInput{"render/report/100MB", 100 * mb, savedReport, render},
		memoryInput{"render-yaml/report/30MB", 30 * mb, savedReport, []string{"render", "-o", "yaml"}},
		memoryInput{"plan/report/30MB", 30 * mb, savedReport, plan},
		memoryInput{"plan/report/100MB", 100 * mb, savedReport, plan},
		memoryInput{"analyze/empty-pods-in-a-report/30MB", 30 * mb, hollowReport, analyze},
		memoryInput{"render/empty-pods-in-a-report/30MB", 30 * mb, hollowReport, render},
		memoryInput{"analyze/brackets/30MB", 30 * mb, repeated("", "["), analyze},
		memoryInput{"analyze/braces/30MB", 30 * mb, repeated("", `{"a":`), analyze},
		memoryInput{"analyze/brackets-in-a-pod-list/30MB", 30 * mb, repeated(`{"kind":"PodList","items":`, "["), analyze},
		memoryInput{"analyze/braces-in-an-object/30MB", 30 * mb, repeated(`{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod","metadata":`, `{"a":`), analyze},
		memoryInput{"render/brackets/30MB", 30 * mb, repeated(`{"schema":"nodeforensics.report/v2","evidence":`, "["), render},
		memoryInput{"analyze/one-line/100MB", 100 * mb, repeated("", "x"), analyze},
		memoryInput{"goroutines/one-line/100MB", 100 * mb, repeated("", "x"), []string{"goroutines"}},
		memoryInput{"analyze/gzip-bomb/10000MB", 10_000 * mb, bomb("gzip", "-1"), analyze},
		memoryInput{"analyze/zstd-bomb/10000MB", 10_000 * mb, bomb("zstd", "-1"), analyze},
		memoryInput{"goroutines/gzip-bomb/10000MB", 10_000 * mb, bomb("gzip", "-1"), []string{"goroutines"}},
		memoryInput{"logs/gzip-bomb/10000MB", 10_000 * mb, bomb("gzip", "-1"), []string{"logs"}},
	)
}

// repeated is a beginning and then one text again and again.
func repeated(start, text string) func(*bufio.Writer, int64) error {
	return func(w *bufio.Writer, size int64) error {
		_, _ = w.WriteString(start)
		for n := int64(0); n < size; n += int64(len(text)) {
			_, _ = w.WriteString(text)
		}
		return nil // a bufio.Writer keeps its error for Flush
	}
}

// bomb is zeros, compressed by a program.
func bomb(compressor ...string) func(*bufio.Writer, int64) error {
	return func(w *bufio.Writer, size int64) error {
		cmd := exec.Command(compressor[0], compressor[1:]...)
		cmd.Stdin, cmd.Stdout = io.LimitReader(zeros{}, size), w
		return cmd.Run()
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
