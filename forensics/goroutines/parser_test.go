package goroutines

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// block is a whole goroutine, as lines.
var block = []string{
	"goroutine 7 [chan receive, 3 minutes]:",
	"main.wait(0xc000012345)",
	"\t/src/main.go:12 +0x1d",
	"created by main.main in goroutine 1",
	"\t/src/main.go:20 +0x5f",
}

func with(lines []string, more ...string) []string {
	return append(append([]string{}, lines...), more...)
}

func TestParseGoroutine(t *testing.T) {
	creator := &Frame{Func: "main.main", File: "/src/main.go", Line: 20, Offset: 0x5f}
	frames := []Frame{{Func: "main.wait", Args: "0xc000012345", File: "/src/main.go", Line: 12, Offset: 0x1d}}
	tests := []struct {
		name  string
		lines []string
		want  Goroutine
	}{
		{"whole", block, Goroutine{
			ID: 7, State: "chan receive", WaitMinutes: 3, Frames: frames, CreatedBy: creator, CreatorID: 1,
		}},
		{"creator without a goroutine, before Go 1.21", []string{
			"goroutine 7 [select]:", "main.wait(0xc000012345)", "\t/src/main.go:12 +0x1d",
			"created by main.main", "\t/src/main.go:20 +0x5f",
		}, Goroutine{ID: 7, State: "select", Frames: frames, CreatedBy: creator}},
		{"locked to thread", []string{"goroutine 7 [syscall, 40 minutes, locked to thread]:", "main.wait()"}, Goroutine{
			ID: 7, State: "syscall", WaitMinutes: 40, LockedToThread: true, Frames: []Frame{{Func: "main.wait"}},
		}},
		{"state with brackets and spaces", []string{"goroutine 7 [chan receive (nil chan), 2 minutes]:", "main.wait()"}, Goroutine{
			ID: 7, State: "chan receive (nil chan)", WaitMinutes: 2, Frames: []Frame{{Func: "main.wait"}},
		}},
		{"being scanned", []string{"goroutine 7 [select (scan)]:", "main.wait()"}, Goroutine{
			ID: 7, State: "select", Frames: []Frame{{Func: "main.wait"}},
		}},
		{"synctest bubble", []string{"goroutine 7 [chan receive (durable), synctest bubble 1]:", "main.wait()"}, Goroutine{
			ID: 7, State: "chan receive (durable)", Frames: []Frame{{Func: "main.wait"}},
		}},
		{"labels in the header, Go 1.26", []string{`goroutine 7 [select, 2 minutes labels:{"pod": "a, b]", "k": "v\n"}]:`, "main.wait()"}, Goroutine{
			ID: 7, State: "select", WaitMinutes: 2, Frames: []Frame{{Func: "main.wait"}},
			Labels: map[string]string{"pod": "a, b]", "k": "v\n"},
		}},
		{"inlined", []string{"goroutine 7 [select]:", "main.wait(...)", "\t/src/main.go:12"}, Goroutine{
			ID: 7, State: "select", Frames: []Frame{{Func: "main.wait", Args: "...", File: "/src/main.go", Line: 12, Inlined: true}},
		}},
		{"vendored in a GOPATH", []string{
			"goroutine 7 [select]:",
			"k8s.io/kubernetes/vendor/gopkg.in/yaml%2ev2.(*Decoder).Decode(0xc0)",
			"\t/go/src/k8s.io/kubernetes/vendor/gopkg.in/yaml.v2/yaml.go:9 +0x1",
		}, Goroutine{ID: 7, State: "select", Frames: []Frame{{
			Func: "gopkg.in/yaml.v2.(*Decoder).Decode", Args: "0xc0", Line: 9, Offset: 1,
			File: "/go/src/k8s.io/kubernetes/vendor/gopkg.in/yaml.v2/yaml.go",
		}}}},
		{"generic", []string{"goroutine 7 [select]:", "q.(*Typed[...]).run(0xc0, {0x1, 0x2})", "\tq/q.go:9 +0x1"}, Goroutine{
			ID: 7, State: "select", Frames: []Frame{{Func: "q.(*Typed[...]).run", Args: "0xc0, {0x1, 0x2}", File: "q/q.go", Line: 9, Offset: 1}},
		}},
		{"path with a space and a colon", []string{"goroutine 7 [select]:", "main.wait()", "\tC:/Program Files/x.go:12 +0x1d"}, Goroutine{
			ID: 7, State: "select", Frames: []Frame{{Func: "main.wait", File: "C:/Program Files/x.go", Line: 12, Offset: 0x1d}},
		}},
		{"frames elided in the middle, Go 1.21", []string{
			"goroutine 7 [select]:", "main.wait()", "\t/src/main.go:12 +0x1d", "...51 frames elided...", "main.up()", "\t/src/main.go:13 +0x1d",
		}, Goroutine{ID: 7, State: "select", Elided: 51, Frames: []Frame{
			{Func: "main.wait", File: "/src/main.go", Line: 12, Offset: 0x1d}, {Func: "main.up", File: "/src/main.go", Line: 13, Offset: 0x1d},
		}}},
		{"frames elided at the end, before Go 1.21", []string{
			"goroutine 7 [select]:", "main.wait()", "\t/src/main.go:12 +0x1d", "...additional frames elided...", "created by main.main", "\t/src/main.go:20 +0x5f",
		}, Goroutine{ID: 7, State: "select", Elided: 1, CreatedBy: creator, Frames: []Frame{{Func: "main.wait", File: "/src/main.go", Line: 12, Offset: 0x1d}}}},
		{"ancestors are left out", with(block, "[originating from goroutine 1]:", "main.main(...)", "\t/src/main.go:20 +0x5f", ""), Goroutine{
			ID: 7, State: "chan receive", WaitMinutes: 3, Frames: frames, CreatedBy: creator, CreatorID: 1,
		}},
		{"C frames", []string{"goroutine 7 [syscall]:", "non-Go function", "\tpc=0x7f00", "runtime.cgocall(0x1)", "\t/src/cgocall.go:1 +0x2"}, Goroutine{
			ID: 7, State: "syscall", Frames: []Frame{{Func: "non-Go function"}, {Func: "runtime.cgocall", Args: "0x1", File: "/src/cgocall.go", Line: 1, Offset: 2}},
		}},
		{"no locations at all", []string{"goroutine 7 [syscall, 47 minutes]:", "syscall.Syscall6(0x106, 0x0)", "os.Stat({0xc000abc000, 0x7b})"}, Goroutine{
			ID: 7, State: "syscall", WaitMinutes: 47,
			Frames: []Frame{{Func: "syscall.Syscall6", Args: "0x106, 0x0"}, {Func: "os.Stat", Args: "{0xc000abc000, 0x7b}"}},
		}},
		{"tabs became spaces", []string{"goroutine 7 [select]:", "main.wait()", "        /src/main.go:12 +0x1d"}, Goroutine{
			ID: 7, State: "select", Frames: []Frame{{Func: "main.wait", File: "/src/main.go", Line: 12, Offset: 0x1d}},
		}},
		{"indentation lost", []string{"goroutine 7 [select]:", "main.wait()", "/src/main.go:12 +0x1d"}, Goroutine{
			ID: 7, State: "select", Frames: []Frame{{Func: "main.wait", File: "/src/main.go", Line: 12, Offset: 0x1d}},
		}},
		{"foreign lines in between", []string{
			"goroutine 7 [select]:", "I0512 10:00:03.000001    2588 kubelet.go:1924] SyncLoop (PLEG)", "main.wait()",
			"W0512 10:00:03.000001    2588 kubelet.go:1] foo.bar(0x1)", "\t/src/main.go:12 +0x1d",
		}, Goroutine{ID: 7, State: "select", Frames: []Frame{{Func: "main.wait", File: "/src/main.go", Line: 12, Offset: 0x1d}}}},
		{"the runtime's frames hidden as in debug=2", []string{
			"goroutine 7 gp=0xc000 m=nil [select]:", "runtime.gopark(0x0?)", "\t/p.go:1 +0x1 fp=0xc1 sp=0xc0 pc=0x4800ce",
			"main.wait()", "\t/src/main.go:12 +0x1d fp=0xc1 sp=0xc0 pc=0x4800ce", "runtime.goexit({})", "\t/a.s:1 +0x1 fp=0xc1 sp=0xc0 pc=0x486a41",
		}, Goroutine{ID: 7, State: "select", Frames: []Frame{{Func: "main.wait", File: "/src/main.go", Line: 12, Offset: 0x1d}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			want.Count, want.Line = 1, 1
			for name, sep := range map[string]string{"LF": "\n", "CRLF": "\r\n"} {
				dumps, _, err := Parse(strings.NewReader(strings.Join(test.lines, sep) + sep + sep))
				if err != nil || len(dumps) != 1 || len(dumps[0].Goroutines) != 1 {
					t.Fatalf("%s: got %+v, %v; want one goroutine", name, dumps, err)
				}
				diff(t, name, want, dumps[0].Goroutines[0])
			}
		})
	}
}

func TestParseDamage(t *testing.T) {
	header := "goroutine 9 [select]:"
	second := []string{"goroutine 8 [select]:", "main.wait()", "\t/src/main.go:12 +0x1d", "created by main.main", "\t/src/main.go:20 +0x5f"}
	tests := []struct {
		name      string
		lines     []string
		ids       []int64
		problem   string // part of the only one; empty: none
		line      int
		truncated bool
	}{
		{"two whole ones", with(block, append([]string{""}, second...)...), []int64{7, 8}, "", 0, false},
		{"no blank line between", with(block, second...), []int64{7, 8}, "", 0, false},
		{"header without state", with([]string{"goroutine 9", "main.x()", "\t/x.go:1 +0x1", ""}, block...), []int64{7}, "no state", 1, false},
		{"header cut", with([]string{"goroutine 9 [sel", "main.x()", "\t/x.go:1 +0x1", ""}, block...), []int64{7}, "state is truncated", 1, false},
		{"number too large", with([]string{"goroutine 99999999999999999999 [select]:", "main.x()", ""}, block...), []int64{7}, "bad number", 1, false},
		{"the running main goroutine, of which the stack is unavailable", with([]string{"goroutine 1 [running]:", "\tgoroutine running on other thread; stack unavailable", ""}, block...), []int64{1, 7}, "", 0, false},
		{"the running main goroutine, of which memory shows no stack", with([]string{"goroutine 1 [running]:", "...additional frames elided...", ""}, block...), []int64{1, 7}, "", 0, false},
		{"something else where the stack would be", with([]string{header, "\tgoroutine running elsewhere", ""}, block...), []int64{7}, "no frames", 1, false},
		{"no frames", with([]string{header, ""}, block...), []int64{7}, "no frames", 1, false},
		{"start cut within a stack", with([]string{"main.x(0x1)", "\t/x.go:1 +0x1", ""}, block...), []int64{7}, "1 frames without a goroutine", 1, true},
		{"end cut behind a function", with(block, "", header, "main.x(0x1)", "\t/x.go:1 +0x1", "main.y(0x1)"), []int64{7, 9}, "the dump ends within its stack", 7, true},
		{"end cut behind a location", with(block, "", header, "main.x(0x1)", "\t/x.go:1 +0x1"), []int64{7, 9}, "the dump ends within its stack", 7, true},
		{"end cut in the creator", with(block, "", header, "main.x(0x1)", "\t/x.go:1 +0x1", "created by main.ma"), []int64{7, 9}, "the dump ends within its stack", 7, true},
		{"end cut in a header", with(block, "", "goroutine 9 [sel"), []int64{7}, "state is truncated", 7, true},
		{"end cut in a function name", with(block, "", header, "main.x(0x1)", "\t/x.go:1 +0x1", "main.fo"), []int64{7, 9}, "the dump ends within its stack", 7, true},
		{"the main goroutine has no creator", with(block, "", "goroutine 1 [select]:", "main.main()", "\t/x.go:1 +0x1"), []int64{7, 1}, "", 0, false},
		{"header lost", with(block, "main.x(0x1)", "\t/x.go:1 +0x1", "", second[0], second[1], second[2], second[3], second[4]), []int64{7, 8}, "frames without a goroutine", 6, false},
		{"function line lost", []string{header, "main.x(0x1)", "\t/x.go:1 +0x1", "\t/y.go:2 +0x1", "created by main.main", "\t/z.go:1 +0x1"}, []int64{9}, "location without a function", 4, false},
		{"log lost lines", with([]string{header, "main.x(0x1)", "\t/x.go:1 +0x1", "Suppressed 120 messages from kubelet.service", "main.y()", "\t/y.go:2 +0x1", ""}, block...), []int64{9, 7}, "the log lost lines", 4, true},
		{"log lost lines between goroutines", with(block, "", "Suppressed 120 messages from kubelet.service", second[0], second[1]), []int64{7, 8}, "", 0, false},
		{"rsyslog lost lines", with([]string{header, "main.x(0x1)", "\t/x.go:1 +0x1", "imjournal: 5211 messages lost due to rate-limiting", "main.y()", "\t/y.go:2 +0x1", ""}, block...), []int64{9, 7}, "the log lost lines", 4, true},
		{"lost in other lines", append(with([]string{header, "main.x(0x1)", "\t/x.go:1 +0x1"}, strings.Split(strings.Repeat("something else\n", maxForeign+1), "\n")...), block...), []int64{9, 7}, "", 0, false},
		{"the runtime's own stack", with([]string{"fatal error: boom", "", "runtime stack:", "runtime.throw(0x1)", "\t/x.go:1 +0x1", ""}, block...), []int64{7}, "", 0, false},
		{"a stack without arguments, as zap prints it", with([]string{"main.x", "\t/x.go:1", ""}, block...), []int64{7}, "", 0, false},
		{"a control character that a terminal has put into a function name", []string{header, "main.x(0x1)", "\t/x.go:1 +0x1", "main.\x7fy(0x1)", "\t/y.go:1 +0x1", "created by main.main", "\t/z.go:1 +0x1"}, []int64{9}, "location without a function", 5, false},
		{"binary junk", with([]string{"\x00\x01\xff\xfe goroutine \x80", "\xff\xff"}, block...), []int64{7}, "", 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dumps, problems := parseText(t, test.lines...)
			var ids []int64
			truncated := false
			for _, d := range dumps {
				truncated = truncated || d.Truncated
				for _, g := range d.Goroutines {
					ids = append(ids, g.ID)
				}
			}
			diff(t, "goroutines", test.ids, ids)
			if truncated != test.truncated {
				t.Errorf("truncated = %v, want %v", truncated, test.truncated)
			}
			if test.problem == "" && len(problems) == 0 {
				return
			}
			found := false
			for _, p := range problems {
				found = found || test.problem != "" && strings.Contains(p.Reason, test.problem) && p.Line == test.line
			}
			if !found {
				t.Errorf("problems %v, want %q in line %d", problems, test.problem, test.line)
			}
		})
	}
}

// A goroutine that lost outer frames says so.
func TestParseCut(t *testing.T) {
	dumps, _ := parseText(t, "goroutine 9 [select]:", "main.x(0x1)", "\t/x.go:1 +0x1",
		"Suppressed 3 messages from /system.slice/kubelet.service", "main.y()", "\t/y.go:2 +0x1", "created by main.main", "\t/z.go:1 +0x1")
	want := []Goroutine{{ID: 9, Count: 1, State: "select", Cut: true, Line: 1, Frames: []Frame{{Func: "main.x", Args: "0x1", File: "/x.go", Line: 1, Offset: 1}}}}
	diff(t, "goroutines", want, dumps[0].Goroutines)

	lines := []string{"goroutine 9 [select]:", "main.x(0x1)", "\t/x.go:1 +0x1"}
	for range maxForeign + 1 {
		lines = append(lines, "something else")
	}
	dumps, _ = parseText(t, lines...)
	diff(t, "goroutine that other lines end", want, dumps[0].Goroutines)
}

func TestParseSeveralDumps(t *testing.T) {
	running := []string{"goroutine 5 [running]:", "main.dump()", "\t/x.go:1 +0x1", "created by main.main", "\t/x.go:2 +0x1", ""}
	second := []string{"goroutine 5 [select]:", "main.x()", "\t/x.go:1 +0x1", "created by main.main", "\t/x.go:2 +0x1", ""}
	one := with(running, append(append([]string{}, block...), "")...)
	tests := []struct {
		name  string
		lines []string
		want  []int // goroutines by dump
		forms []Form
	}{
		{"two debug=2", with(one, one...), []int{2, 2}, []Form{FormDebug2, FormDebug2}},
		{"a second one whose start is cut", with(one, append(append([]string{}, block...), second...)...), []int{2, 2}, []Form{FormDebug2, FormDebug2}},
		{"a crash behind a debug=2", with(one, with([]string{"SIGABRT: abort", "PC=0x408b0c m=0 sigcode=0", ""}, one...)...), []int{2, 2}, []Form{FormDebug2, formCrash}},
		{"debug=1 and debug=2", with([]string{"goroutine profile: total 3", "3 @ 0x1 0x2", "#\t0x1\tmain.x+0x1\t/x.go:1", ""}, one...), []int{1, 2}, []Form{formDebug1, FormDebug2}},
		{"two crashes without a blank line", with(with([]string{"panic: one", ""}, block...), with([]string{"panic: two", ""}, block...)...), []int{1, 1}, []Form{formCrash, formCrash}},
		{"a crash of several threads is one", with(with([]string{"SIGABRT: abort", ""}, one...), "-----", "", "SIGQUIT: quit", "PC=0x1 m=1 sigcode=0", "", "goroutine 0 gp=0x1 m=1 mp=0x2 [idle]:", "runtime.futex(0x1)", "\t/f.s:1 +0x1"), []int{3}, []Form{formCrash}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dumps, problems := parseText(t, test.lines...)
			var counts []int
			var forms []Form
			for _, d := range dumps {
				counts = append(counts, len(d.Goroutines))
				forms = append(forms, d.Form)
			}
			diff(t, "goroutines", test.want, counts)
			diff(t, "forms", test.forms, forms)
			if len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}

func TestParseHeaderOfCrash(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"signal", "SIGABRT: abort", "SIGABRT: abort"},
		{"panic", "panic: runtime error: index out of range [5] with length 3", "panic: runtime error: index out of range [5] with length 3"},
		{"fatal error", "fatal error: all goroutines are asleep - deadlock!", "fatal error: all goroutines are asleep - deadlock!"},
		{"net/http", "2024/05/12 10:00:02 http: panic serving 10.0.0.1:1234: boom", ""},
		{"net/http without time", "http: panic serving 10.0.0.1:1234: boom", "http: panic serving 10.0.0.1:1234: boom"},
		{"klog fatal", "F0512 10:00:02.000001    2588 server.go:273] failed to run Kubelet: boom", "failed to run Kubelet: boom"},
		{"again", "panic: boom [recovered]\n\tpanic: boom", "panic: boom [recovered]"},
		{"HandleCrash", `E0512 10:00:02.000001    2588 runtime.go:78] Observed a panic: "boom" (boom)`, `Observed a panic: "boom" (boom)`},
		{"prose that mentions a signal", "SIGABRT was sent", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dumps, _ := parseText(t, with([]string{test.line, ""}, block...)...)
			want, got := test.want, dumps[0].Header
			if got != want || (dumps[0].Form == formCrash) != (want != "") {
				t.Errorf("form %s, header %q, want %q", dumps[0].Form, got, want)
			}
		})
	}
	t.Run("an old announcement is forgotten", func(t *testing.T) {
		lines := []string{"panic: long ago"}
		for range maxHeaderAge {
			lines = append(lines, "something else")
		}
		dumps, _ := parseText(t, with(lines, block...)...)
		if dumps[0].Header != "" || dumps[0].Form != FormDebug2 {
			t.Errorf("form %s, header %q", dumps[0].Form, dumps[0].Header)
		}
	})
}

func TestParseReadError(t *testing.T) {
	boom := errors.New("boom")
	text := strings.Join(block, "\n") + "\n\n"
	dumps, _, err := Parse(io.MultiReader(strings.NewReader(text), iotest.ErrReader(boom)))
	if !errors.Is(err, boom) {
		t.Errorf("error = %v, want %v", err, boom)
	}
	if len(dumps) != 1 {
		t.Errorf("got %d dumps, want what was read before the error", len(dumps))
	}
}

func TestParseByBytes(t *testing.T) {
	data := readFixture(t, captures[0]+"/debug2.txt.gz")
	dumps, _, err := Parse(iotest.OneByteReader(strings.NewReader(string(data))))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "dump", []Dump{parseOne(t, data)}, dumps)
}
