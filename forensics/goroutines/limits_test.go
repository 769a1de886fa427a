package goroutines

import (
	"bytes"
	"io"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
)

// endless yields the same byte.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// A line of 100 MB stands between two goroutines, and in the middle of one.
func TestHugeLine(t *testing.T) {
	text := strings.Join(block, "\n")
	huge := func() io.Reader { return io.LimitReader(endless('x'), 100_000_000) }
	in := io.MultiReader(
		strings.NewReader(text+"\n\n"), huge(),
		strings.NewReader("\n"+strings.Replace(text, " 7 ", " 8 ", 1)+"\n\n"+block[0]+"\n"), huge(),
		strings.NewReader("\nmain.wait(0x1)\n\t/src/main.go:12 +0x1d\ncreated by main.main\n\t/src/main.go:20 +0x5f\n"))
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	dumps, problems, err := Parse(in)
	runtime.ReadMemStats(&after)
	if err != nil || len(dumps) != 2 || len(dumps[0].Goroutines) != 2 || len(dumps[1].Goroutines) != 1 {
		t.Fatalf("got %+v, %v", dumps, err)
	}
	if got := dumps[1].Goroutines[0]; got.Line != 14 || len(got.Frames) != 1 || got.CreatedBy == nil {
		t.Errorf("goroutine around the line: %+v", got)
	}
	if len(problems) != 2 || problems[0].Line != 7 || problems[1].Line != 15 {
		t.Errorf("problems %v, want one each in lines 7 and 15", problems)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("allocated %d MiB", used>>20)
	}
}

func TestParserLimits(t *testing.T) {
	data := readFixture(t, captures[1]+"/debug2.txt.gz")
	whole := parseOne(t, data)
	t.Run("goroutines", func(t *testing.T) {
		dumps, problems, err := Parser{MaxGoroutines: 10}.Parse(bytes.NewReader(data))
		if err != nil || len(dumps[0].Goroutines) != 10 || !dumps[0].Truncated {
			t.Fatalf("%d goroutines, truncated %v, %v", len(dumps[0].Goroutines), dumps[0].Truncated, err)
		}
		if len(problems) != 1 || problems[0].Reason != "more than 10 goroutines: 84 not kept" {
			t.Errorf("problems: %v", problems)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		dumps, problems, err := Parser{MaxBytes: 20_000}.Parse(bytes.NewReader(data))
		if err != nil || !dumps[0].Truncated || len(problems) == 0 {
			t.Fatalf("%+v %v %v", dumps, problems, err)
		}
		n := len(dumps[0].Goroutines)
		diff(t, "goroutines before the last", whole.Goroutines[:n-1], dumps[0].Goroutines[:n-1])
	})
	t.Run("exactly as many bytes", func(t *testing.T) {
		dumps, problems, err := Parser{MaxBytes: int64(len(data))}.Parse(bytes.NewReader(data))
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		diff(t, "dump", whole, dumps[0])
	})
	t.Run("lines", func(t *testing.T) {
		dumps, problems, err := Parser{MaxLine: 64}.Parse(bytes.NewReader(data))
		if err != nil || len(dumps) != 1 || len(problems) == 0 {
			t.Fatal(len(dumps), problems, err)
		}
	})
	t.Run("problems", func(t *testing.T) {
		bad := strings.Repeat("goroutine 1\n\n", 50)
		_, problems, err := Parser{MaxProblems: 5}.Parse(strings.NewReader(bad))
		if err != nil || len(problems) != 6 || problems[5].Reason != "45 more problems" {
			t.Errorf("%v %v", problems, err)
		}
	})
	t.Run("frames", func(t *testing.T) {
		lines := []string{"goroutine 1 [select]:"}
		for range maxFrames + 7 {
			lines = append(lines, "main.f()", "\t/f.go:1 +0x1")
		}
		lines = append(lines, "main.last()", "\t/last.go:99 +0x1")
		dumps, _ := parseText(t, lines...)
		if g := dumps[0].Goroutines[0]; len(g.Frames) != maxFrames || g.Elided != 8 || g.Frames[maxFrames-1].Line != 1 {
			t.Errorf("%d frames, %d elided", len(g.Frames), g.Elided)
		}
	})
}

func TestDebug0Damage(t *testing.T) {
	data := readFixture(t, captures[0]+"/debug0.pb.gz")
	whole := parseOne(t, data)
	if whole.Form != formDebug0 {
		t.Fatalf("form %s", whole.Form)
	}
	t.Run("cut", func(t *testing.T) {
		dumps, problems, err := Parse(bytes.NewReader(data[:len(data)/2]))
		if err != nil || len(dumps) != 0 || len(problems) == 0 {
			t.Errorf("%d dumps, %v, %v", len(dumps), problems, err)
		}
	})
	t.Run("gzip cut", func(t *testing.T) {
		dumps, problems, err := Parse(bytes.NewReader(gz(t, data)[:1000]))
		if err != nil || len(dumps) != 0 || len(problems) == 0 {
			t.Errorf("%d dumps, %v, %v", len(dumps), problems, err)
		}
	})
	t.Run("text that was compressed and cut", func(t *testing.T) {
		text := readFixture(t, captures[0]+"/debug2.txt.gz")
		packed := gz(t, text)
		dumps, problems, err := Parse(bytes.NewReader(packed[:len(packed)/2]))
		if err != nil || len(dumps) != 1 || !dumps[0].Truncated || len(problems) == 0 {
			t.Errorf("%d dumps, %v, %v", len(dumps), problems, err)
		}
	})
}

// A profile of another kind is named, not taken for text.
func TestHeapProfile(t *testing.T) {
	var b bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	dumps, problems, err := Parse(&b)
	if err != nil || len(dumps) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Reason, "not of goroutines") {
		t.Errorf("%d dumps, %v, %v", len(dumps), problems, err)
	}
}

// The three forms of this very process, taken live.
func TestLive(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	var ready sync.WaitGroup
	ready.Add(3)
	for range 3 {
		go func() {
			ready.Done()
			<-stop
		}()
	}
	ready.Wait()
	for debug, form := range []Form{formDebug0, formDebug1, FormDebug2} {
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, debug); err != nil {
			t.Fatal(err)
		}
		d := parseOne(t, b.Bytes())
		n := 0
		for _, g := range d.Goroutines {
			if strings.HasPrefix(g.Frames[len(g.Frames)-1].Func, "github.com/nodeforensics/nodeforensics/forensics/goroutines.TestLive.func") {
				n += g.Count
			}
		}
		if d.Form != form || n != 3 {
			t.Errorf("debug=%d: form %s, %d goroutines of this test, want 3", debug, d.Form, n)
		}
	}
}

func TestOtherProfiles(t *testing.T) {
	dumps, problems := parseText(t,
		"threadcreate profile: total 3", "3 @ 0x1 0x2", "#\t0x1\truntime.main+0x1\t/x.go:1", "", "")
	if len(dumps) != 0 || len(problems) != 0 {
		t.Errorf("%+v %v", dumps, problems)
	}
}

func TestDebug1(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  Dump
		loud  bool
	}{
		{"labels", []string{"goroutine profile: total 3", "2 @ 0x1 0x2", `# labels: {"pod":"a, b", "k":"v\n"}`, "#\t0x1\tmain.x+0x1\t\t/x.go:7", "", "1 @ 0x3", "#\t0x3"}, Dump{
			Form: formDebug1, Header: "goroutine profile: total 3", Goroutines: []Goroutine{
				{Count: 2, Line: 2, Labels: map[string]string{"pod": "a, b", "k": "v\n"}, Frames: []Frame{{Func: "main.x", Offset: 1, File: "/x.go", Line: 7}}},
				{Count: 1, Line: 6, Frames: []Frame{{Func: "0x3"}}},
			},
		}, false},
		{"start cut", []string{"#\t0x9\tmain.y+0x1\t/x.go:7", "", "2 @ 0x1", "#\t0x1\tk8s.io/kubernetes/vendor/m.x+0x1\t/x.go:7"}, Dump{
			Form: formDebug1, Truncated: true, Goroutines: []Goroutine{{Count: 2, Line: 3, Frames: []Frame{{Func: "m.x", Offset: 1, File: "/x.go", Line: 7}}}},
		}, true},
		{"end cut", []string{"goroutine profile: total 9", "2 @ 0x1", "#\t0x1\tmain.x+0x1\t/x.go:7", ""}, Dump{
			Form: formDebug1, Header: "goroutine profile: total 9", Truncated: true,
			Goroutines: []Goroutine{{Count: 2, Line: 2, Frames: []Frame{{Func: "main.x", Offset: 1, File: "/x.go", Line: 7}}}},
		}, true},
		{"tabs became spaces", []string{"goroutine profile: total 2", "2 @ 0x1", "#   0x1     main.x+0x1       /x.go:7"}, Dump{
			Form: formDebug1, Header: "goroutine profile: total 2",
			Goroutines: []Goroutine{{Count: 2, Line: 2, Frames: []Frame{{Func: "main.x", Offset: 1, File: "/x.go", Line: 7}}}},
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dumps, problems := parseText(t, test.lines...)
			diff(t, "dumps", []Dump{test.want}, dumps)
			if loud := len(problems) > 0; loud != test.loud {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}
