package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/report"
)

// goroutines runs the command on files and wants an exit status.
func runGoroutines(t testing.TB, want int, args ...string) outcome {
	t.Helper()
	cmd := command(t, append([]string{"goroutines"}, args...)...)
	o := finish(t, cmd)
	o.dir = cmd.Dir
	if o.status != want {
		t.Fatalf("exit status %d, want %d\n%s%s", o.status, want, o.stdout, o.stderr)
	}
	return o
}

// answer runs the command with --json.
func answer(t testing.TB, args ...string) report.Goroutines {
	t.Helper()
	var a report.Goroutines
	if err := json.Unmarshal([]byte(runGoroutines(t, exitDone, append(args, "-o", "json")...).stdout), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestGoroutinesPrintsVerdictsThenGroupsBlockedFirst(t *testing.T) {
	t.Parallel()
	const name = "kubelet-1.34.4-hung-csi"
	o := runGoroutines(t, exitDone, capture(t, name, "goroutine.debug2"), "--mountinfo", capture(t, name, "mountinfo"))
	var last int
	for _, part := range []string{
		"CRITICAL", "housekeeping", "94 goroutines in 67 groups, 1 blocked",
		"BLOCKED  1 sync loop [syscall, 12 minutes]: goroutine 171", "HandlePodCleanups(", "volume manager reconciler",
	} {
		i := strings.Index(o.stdout[last:], part)
		if i < 0 {
			t.Fatalf("no %q behind byte %d of\n%s", part, last, o.stdout)
		}
		last += i
	}
	if o.stderr != "" {
		t.Errorf("stderr: %s", o.stderr)
	}
}

func TestGoroutinesGivesTheSameVerdictForEveryForm(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kubelet-1.17.4-hung-cephfs", "kubelet-1.34.4-hung-csi"} {
		for _, form := range []string{"goroutine.debug2", "goroutine.debug1", "goroutine.debug0"} {
			t.Run(name+" "+form, func(t *testing.T) {
				t.Parallel()
				a := answer(t, capture(t, name, form))
				if len(a.Findings) != 1 || a.Findings[0].ID != "kubelet-housekeeping-blocked" {
					t.Fatalf("findings = %+v", a.Findings)
				}
				want := forensics.Warning
				if form == "goroutine.debug2" {
					want = forensics.Critical
				}
				if a.Findings[0].Severity != want || len(a.Groups) == 0 || !a.Groups[0].Blocked || a.Groups[0].Role.ID != "syncloop" {
					t.Errorf("%s, first group %+v", a.Findings[0].Severity, a.Groups[0].Role)
				}
				if a.Schema != "nodeforensics.goroutines/v1" || a.Problems == nil {
					t.Errorf("schema %q, problems %v", a.Schema, a.Problems)
				}
			})
		}
	}
}

func TestGoroutinesOfAHealthyKubeletFindNothing(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"goroutine.debug2", "goroutine.debug1", "goroutine.debug0"} {
		a := answer(t, capture(t, "kubelet-1.34.4-unmount-busy", form))
		if len(a.Findings) != 0 || len(a.Groups) == 0 {
			t.Errorf("%s: %d groups, findings %+v", form, len(a.Groups), a.Findings)
		}
	}
}

func TestGoroutinesReadsStandardInput(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "goroutines", "-")
	cmd.Stdin = bytes.NewReader(text)
	if o := finish(t, cmd); o.status != exitDone || !strings.Contains(o.stdout, "goroutine 171") {
		t.Errorf("exit status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
}

// The profile holds every goroutine, and pprof's own reader takes it.
func TestGoroutinesExportsAProfile(t *testing.T) {
	t.Parallel()
	o := runGoroutines(t, exitDone, capture(t, "kubelet-1.34.4-hung-csi", "goroutine.debug2"), "--pprof", "out.pb.gz", "--html", "out.html")
	f, err := os.Open(filepath.Join(o.dir, "out.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	total, blocked := int64(0), 0
	for _, s := range p.Sample {
		total += s.Value[0]
		if slices.Contains(s.Label["role"], "sync loop") {
			blocked++
		}
	}
	if total != 94 || blocked != 1 {
		t.Errorf("%d goroutines, %d of the sync loop; want 94 and 1", total, blocked)
	}
	if html := readFile(t, filepath.Join(o.dir, "out.html")); !strings.Contains(html, "housekeeping") {
		t.Error("the HTML does not speak of housekeeping")
	}
}

func TestGoroutinesComparesTwoDumps(t *testing.T) {
	t.Parallel()
	before, after := capture(t, "kubelet-1.34.4-unmount-busy", "goroutine.debug2"), capture(t, "kubelet-1.34.4-runtime-stopped", "goroutine.debug2")
	a := answer(t, "--diff", before, after)
	if len(a.Findings) == 0 || a.Findings[0].ID == "kubelet-housekeeping-blocked" {
		t.Errorf("the verdict is not about the second dump: %+v", a.Findings)
	}
	grew, shrank := 0, 0
	for _, c := range a.Changes {
		if c.After > c.Before {
			grew++
		} else {
			shrank++
		}
	}
	if grew == 0 || shrank == 0 {
		t.Errorf("%d groups grew, %d shrank", grew, shrank)
	}
	if o := runGoroutines(t, exitDone, "--diff", before, after); !strings.Contains(o.stdout, "groups changed between the two dumps") {
		t.Errorf("no changes in\n%s", o.stdout)
	}
	if o := runGoroutines(t, exitUsage, "--diff", before); !strings.Contains(o.stderr, "two files") {
		t.Errorf("--diff with one file: %s", o.stderr)
	}
}

// What cannot be read is named, the rest is judged, and nothing of a hostile dump reaches the terminal as a control.
func TestGoroutinesIsTolerantAndLoud(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hostile, text := filepath.Join(dir, "hostile.txt"), filepath.Join(dir, "notes.txt")
	write := func(name, content string) {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(hostile, "goroutine 1 [sel\x1b[31mect]:\nmain.\x1b]0;owned\x07f()\n\t/a.go:1 +0x1\n\ngoroutine x [y]:\n\ngoroutine 2 [chan send, 5 minutes]:\nmain.g\u202e(0x1)\n\t/a.go:2 +0x1\n")
	write(text, "nothing of the kind\n")
	o := runGoroutines(t, exitDone, hostile, text, filepath.Join(dir, "absent"))
	for _, part := range []string{"notes.txt: no goroutine dump\n", "absent: no such file"} {
		if !strings.Contains(o.stderr, part) {
			t.Errorf("stderr lacks %q: %s", part, o.stderr)
		}
	}
	if i := strings.IndexFunc(o.stdout, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' }); i >= 0 {
		t.Errorf("a control character in %q", o.stdout[max(0, i-40):i+10])
	}
	if !strings.Contains(o.stdout, "BLOCKED  1") {
		t.Errorf("the readable dump was not judged:\n%s", o.stdout)
	}
}

// endless is a dump of n goroutines with one stack.
type endless struct {
	n, next int
	rest    []byte
}

func (e *endless) Read(b []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.next == e.n {
			return 0, io.EOF
		}
		e.next++
		e.rest = fmt.Appendf(nil, "goroutine %d [select]:\nk8s.io/a.(*T).f(%#x, {%#x, 0x7f})\n\t/go/src/k8s.io/a/a.go:7 +0x1d\nk8s.io/a.(*T).g(%#x)\n\t/go/src/k8s.io/a/a.go:9 +0x1d\ncreated by k8s.io/a.New in goroutine 1\n\t/go/src/k8s.io/a/a.go:3 +0x1d\n\n", e.next, e.next, e.next*2, e.next*3)
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// A dump of any size is read without being held in memory.
func TestGoroutinesOfAHugeDump(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 100 MB")
	}
	t.Parallel()
	const n = 450_000
	cmd := command(t, "goroutines", "-o", "json", "-")
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=off", "GOGC=100")
	cmd.Stdin = &endless{n: n}
	peakOf := measured(t, cmd)
	o := finish(t, cmd)
	var a report.Goroutines
	if err := json.Unmarshal([]byte(o.stdout), &a); err != nil || o.status != exitDone {
		t.Fatalf("exit status %d, %v\n%s", o.status, err, o.stderr)
	}
	if len(a.Groups) != 1 || a.Groups[0].Count != n {
		t.Errorf("%d groups", len(a.Groups))
	}
	if peak := peakOf(); !raceEnabled && peak > 256<<20 {
		t.Errorf("%d MiB at the peak", peak>>20)
	}
}

func TestIntervalAndProfileAreChecked(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--interval", "-1s"}, {"--cpu-profile", "-1s"}} {
		if o := finish(t, command(t, args...)); o.status != exitUsage || !strings.Contains(o.stderr, args[0]) {
			t.Errorf("%v: exit status %d, %q", args, o.status, o.stderr)
		}
	}
}
