package goroutines

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// addSeeds adds the start of real dumps, and every way of dressing one. Seeds
// are short: each that the fuzzer finds interesting is made smaller step by step.
func addSeeds(f *testing.F) {
	for _, name := range []string{
		"runtime/go1.9.7-debug2.txt.gz", "runtime/go1.26-abort.txt.gz",
		"runtime/go1.9.7-spin-crash.txt.gz", "runtime/go1.26-debug1.txt.gz",
	} {
		data := readFixture(f, name)
		f.Add(data[:300])
		f.Add(data[len(data)-200:])
	}
	small := []byte(strings.Join(block, "\n") + "\n\n" + strings.Join(block, "\n") + "\n")
	for _, d := range dressings {
		f.Add(dress(small, d.line))
	}
	f.Add(gz(f, small))
	frame := Frame{Func: "main.f", File: "/f.go", Line: 1}
	var b bytes.Buffer
	if err := WriteProfile(&b, Dump{Goroutines: []Goroutine{{Count: 2, Frames: []Frame{frame}}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
}

func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		p := Parser{MaxBytes: 1 << 20, MaxLine: 1 << 12}
		dumps, problems, err := p.Parse(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("error %v for an input in memory", err)
		}
		compressed := bytes.HasPrefix(data, []byte("\x1f\x8b"))
		lines := bytes.Count(data, []byte("\n")) + 1
		inRange := func(line int) bool { return line >= 0 && (compressed || line <= lines) }
		for _, problem := range problems {
			if !inRange(problem.Line) || problem.Reason == "" {
				t.Errorf("problem %+v in %d lines", problem, lines)
			}
		}
		for _, d := range dumps {
			checkDump(t, d, inRange)
		}
	})
}

// checkDump checks what holds of every dump.
func checkDump(t *testing.T, d Dump, inRange func(int) bool) {
	total := 0
	for _, g := range d.Goroutines {
		if !inRange(g.Line) || g.Count < 0 || g.ID < 0 || g.Frames == nil || g.WaitMinutes < 0 || g.Elided < 0 {
			t.Fatalf("goroutine %+v", g)
		}
		total += g.Count
		for _, frame := range g.Frames {
			if strings.ContainsAny(frame.Func, "\n\r") && d.Form != formDebug0 || len(frame.Words()) > len(frame.Args) {
				t.Fatalf("frame %+v", frame)
			}
		}
		g.Syscall()
		g.SyscallName()
	}
	grouped := 0
	for _, g := range GroupBy(d) {
		grouped += g.Count
	}
	if grouped != total {
		t.Errorf("%d goroutines, %d in groups", total, grouped)
	}
	KubeletVersion(d)
	var b bytes.Buffer
	if err := WriteProfile(&b, d); err != nil {
		t.Errorf("write profile: %v", err)
	}
}

// A dump that was understood whole reads the same when it is printed again.
func FuzzRoundTrip(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		dumps, problems, err := Parser{MaxBytes: 1 << 20}.Parse(bytes.NewReader(data))
		if err != nil || len(problems) > 0 || len(dumps) != 1 || dumps[0].Form != FormDebug2 {
			return
		}
		d := withoutLines(dumps[0])
		for i := range d.Goroutines { // what the printer does not do
			g := &d.Goroutines[i]
			g.Labels, g.Elided, g.Cut = nil, 0, false
		}
		again, problems, err := Parse(strings.NewReader(printDump(d)))
		if err != nil || len(problems) > 0 || len(again) != 1 {
			t.Fatalf("%d dumps, %v, %v from\n%s", len(again), problems, err, printDump(d))
		}
		d.Truncated = again[0].Truncated
		if diff := cmp.Diff(d, withoutLines(again[0])); diff != "" {
			t.Errorf("differs (-first +again):\n%s\n%q", diff, printDump(d))
		}
	})
}

func FuzzCutPrefix(f *testing.F) {
	f.Add([]byte("May 12 10:00:02 node-1 kubelet[2588]: E0512 10:00:02.000001    2588 runtime.go:78] Observed a panic"))
	f.Add([]byte("2024-05-12T10:00:02.123456789Z stderr F main.x()"))
	f.Add([]byte("<30>1 2024-05-12T10:00:02.123Z node-1 kubelet 2588 - - main.x()"))
	f.Fuzz(func(t *testing.T, line []byte) {
		rec, ok := cutPrefix(line)
		if ok && !bytes.HasSuffix(line, rec.text) {
			t.Errorf("%q is no end of %q", rec.text, line)
		}
	})
}
