package goroutines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestCutPrefix(t *testing.T) {
	tests := []struct {
		name, line   string
		source, text string
		klog         byte
		partial      bool
	}{
		{"journalctl short", "May 12 10:00:02 node-1 kubelet[2588]: main.x()", "node-1 kubelet[2588]", "main.x()", 0, false},
		{"day of one digit", "May  2 10:00:02 node-1 kubelet[2588]: \t/x.go:1", "node-1 kubelet[2588]", "\t/x.go:1", 0, false},
		{"short-precise", "May 12 10:00:02.123456 node-1 kubelet[2588]: main.x()", "node-1 kubelet[2588]", "main.x()", 0, false},
		{"short-iso", "2024-05-12T10:00:02+0200 node-1 kubelet[2588]: main.x()", "node-1 kubelet[2588]", "main.x()", 0, false},
		{"short-iso-precise", "2024-05-12T10:00:02.123456+02:00 node-1 kubelet[2588]: main.x()", "node-1 kubelet[2588]", "main.x()", 0, false},
		{"short-full", "Sun 2024-05-12 10:00:02 CEST node-1 kubelet[2588]: main.x()", "node-1 kubelet[2588]", "main.x()", 0, false},
		{"short-unix", "1715508002.123456 node-1 kubelet[2588]: main.x()", "node-1 kubelet[2588]", "main.x()", 0, false},
		{"no host", "May 12 10:00:02 kubelet[2588]: goroutine 7 [select]:", "kubelet[2588]", "goroutine 7 [select]:", 0, false},
		{"a clock and no host", "10:00:02 kubelet[2588]: main.x()", "kubelet[2588]", "main.x()", 0, false},
		{"no pid", "May 12 10:00:02 node-1 kernel: main.x()", "node-1 kernel", "main.x()", 0, false},
		{"empty message", "May 12 10:00:02 node-1 kubelet[2588]:", "node-1 kubelet[2588]", "", 0, false},
		{"RFC 3164", "<30>May 12 10:00:02 node-1 kubelet[2588]: main.x()", "node-1 kubelet[2588]", "main.x()", 0, false},
		{"RFC 5424", "<30>1 2024-05-12T10:00:02.123Z node-1 kubelet 2588 - - main.x()", "node-1 kubelet 2588 -", "main.x()", 0, false},
		{"CRI", "2024-05-12T10:00:02.123456789Z stderr F main.x()", "stderr", "main.x()", 0, false},
		{"CRI, part of a line", "2024-05-12T10:00:02.1Z stderr P main.", "stderr", "main.", 0, true},
		{"CRI, empty", "2024-05-12T10:00:02.1Z stderr F ", "stderr", "", 0, false},
		{"CRI, empty and trimmed", "2024-05-12T10:00:02.1Z stderr F", "stderr", "", 0, false},
		{"kubectl logs --timestamps", "2024-05-12T10:00:02.123456789Z goroutine 1 [select]:", "", "goroutine 1 [select]:", 0, false},
		{"kubectl logs --timestamps, creator", "2024-05-12T10:00:02.123456789Z created by main.main", "", "created by main.main", 0, false},
		{"klog", "E0512 10:00:02.000001    2588 runtime.go:78] Observed a panic", "", "Observed a panic", 'E', false},
		{"klog in the journal", "May 12 10:00:02 node-1 kubelet[2588]: I0512 10:00:02.000001    2588 kubelet.go:1] hello", "node-1 kubelet[2588]", "hello", 'I', false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rec, ok := cutPrefix([]byte(test.line))
			if !ok {
				t.Fatal("no prefix found")
			}
			got := []any{string(rec.source), string(rec.text), rec.klog, rec.partial}
			diff(t, "record", []any{test.source, test.text, test.klog, test.partial}, got)
		})
	}
	for _, line := range []string{
		"", "9 @ 0x49014e 0x46c165", "4d63.com/gochecknoglobals.run(0x1)", "May we say", "May 12 at noon it was hot here", "2024-05-12",
		"Running(0x1)", "I0512", "E0512 ab:cd", "<30>", "SIGABRT: abort", "PC=0x408b0c m=0 sigcode=0",
		"10:00:02 goroutine 7 [select]:",
	} {
		if rec, ok := cutPrefix([]byte(line)); ok {
			t.Errorf("%q: found a prefix: %q", line, rec.text)
		}
	}
}

// dressings are ways in which a dump ends up in a log. Each turns a line into what is logged.
var dressings = []struct {
	name string
	line func(i int, line string) string
}{
	{"journalctl", func(i int, l string) string {
		return fmt.Sprintf("May 12 10:%02d:02 node-1 kubelet[2588]: %s", i%60, l)
	}},
	{"rsyslog with escaped tabs", func(_ int, l string) string {
		return "May 12 10:00:02 node-1 kubelet[2588]: " + strings.ReplaceAll(l, "\t", "#011")
	}},
	{"CRI", func(i int, l string) string { return fmt.Sprintf("2024-05-12T10:00:02.%dZ stderr F %s", i, l) }},
	{"CRI in parts", func(_ int, l string) string {
		half := len(l) / 2
		return "2024-05-12T10:00:02.1Z stderr P " + l[:half] + "\n2024-05-12T10:00:02.1Z stderr F " + l[half:]
	}},
	{"docker", func(_ int, l string) string { return jsonLine(map[string]any{"log": l + "\n", "stream": "stderr"}) }},
	{"docker in parts", func(_ int, l string) string {
		half := len(l) / 2
		return jsonLine(map[string]any{"log": l[:half], "stream": "stderr"}) + "\n" + jsonLine(map[string]any{"log": l[half:] + "\n", "stream": "stderr"})
	}},
	{"journalctl -o json", func(_ int, l string) string {
		return jsonLine(map[string]any{"MESSAGE": l, "SYSLOG_IDENTIFIER": "kubelet", "_PID": "2588", "_HOSTNAME": "node-1"})
	}},
	{"journalctl -o json with bytes", func(_ int, l string) string {
		numbers := make([]int, len(l))
		for i := range l {
			numbers[i] = int(l[i])
		}
		return jsonLine(map[string]any{"MESSAGE": numbers, "SYSLOG_IDENTIFIER": "kubelet", "_PID": "2588"})
	}},
	{"kubectl logs --timestamps", func(_ int, l string) string { return "2024-05-12T10:00:02.123456789Z " + l }},
	{"journald, which drops empty lines", func(_ int, l string) string {
		if l == "" {
			return "I0512 10:00:02.000001    2588 kubelet.go:1] something else"
		}
		return "May 12 10:00:02 node-1 kubelet[2588]: " + l
	}},
	{"indented by a tab", func(_ int, l string) string { return "\t" + l }},
	{"indented by spaces", func(_ int, l string) string { return "    " + l }},
	{"CRLF", func(_ int, l string) string { return l + "\r" }},
	{"interrupted by log lines of the same process", func(i int, l string) string {
		return fmt.Sprintf("May 12 10:00:02 node-1 kubelet[2588]: %s\nMay 12 10:00:02 node-1 kubelet[2588]: I0512 10:00:02.%06d    2588 kubelet.go:1] foo.bar(0x1)", l, i)
	}},
	{"interrupted by another process", func(i int, l string) string {
		return fmt.Sprintf("May 12 10:00:02 node-1 kubelet[2588]: %s\nMay 12 10:00:02 node-1 app[%d]: foo.bar(0x1)\nMay 12 10:00:02 node-1 app[3]: goroutine stray", l, i%400)
	}},
}

func jsonLine(fields map[string]any) string {
	b, _ := json.Marshal(fields)
	return string(b)
}

func dress(data []byte, f func(int, string) string) []byte {
	var b bytes.Buffer
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		b.WriteString(f(i, line))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Whatever stands before the lines of a dump and between them, it reads the same.
func TestParseDressed(t *testing.T) {
	for _, input := range []string{captures[0] + "/debug2.txt.gz", captures[1] + "/debug1.txt.gz", "runtime/go1.26-abort.txt.gz", "runtime/go1.9.7-abort-crash.txt.gz"} {
		plain := readFixture(t, input)
		want := withoutLines(parseOne(t, plain))
		for _, d := range dressings {
			t.Run(input+" "+d.name, func(t *testing.T) {
				got := withoutLines(parseOne(t, dress(plain, d.line)))
				diff(t, "dump", want, got)
			})
		}
	}
}

// Two processes that dump at the same time, line by line.
func TestParseInterleaved(t *testing.T) {
	a, b := readFixture(t, captures[0]+"/debug2.txt.gz"), readFixture(t, captures[1]+"/debug2.txt.gz")
	linesA, linesB := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	var mixed strings.Builder
	for i := range max(len(linesA), len(linesB)) {
		if i < len(linesA) {
			mixed.WriteString("May 12 10:00:02 node-1 kubelet[1]: " + linesA[i] + "\n")
		}
		if i < len(linesB) {
			mixed.WriteString("May 12 10:00:02 node-2 kubelet[1]: " + linesB[i] + "\n")
		}
	}
	dumps, problems, err := Parse(strings.NewReader(mixed.String()))
	if err != nil || len(problems) > 0 || len(dumps) != 2 {
		t.Fatalf("got %d dumps, problems %v, error %v", len(dumps), problems, err)
	}
	diff(t, "first", withoutLines(parseOne(t, a)), withoutLines(dumps[0]))
	diff(t, "second", withoutLines(parseOne(t, b)), withoutLines(dumps[1]))
}

func TestParseMultilineMessage(t *testing.T) {
	stack := strings.Join(block, "\n")
	tests := []struct{ name, text string }{
		{"klog value", "E0512 10:00:02.000001    2588 panic.go:262] \"Observed a panic\" panic=\"boom\" stacktrace=<\n\t" +
			strings.ReplaceAll(stack, "\n", "\n\t") + "\n >\nI0512 10:00:03.000001    2588 kubelet.go:1] next\n"},
		{"klog JSON", jsonLine(map[string]any{"ts": 1, "msg": "Observed a panic", "panic": "boom", "stacktrace": stack + "\n"})},
		{"journalctl indents further lines", "May 12 10:00:02 node-1 kubelet[2588]: Observed a panic\n" +
			strings.Repeat(" ", len("May 12 10:00:02 node-1 kubelet[2588]: ")) +
			strings.ReplaceAll(stack, "\n", "\n"+strings.Repeat(" ", len("May 12 10:00:02 node-1 kubelet[2588]: ")))},
	}
	want := parseOne(t, []byte(stack+"\n")).Goroutines
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := withoutLines(parseOne(t, []byte(test.text)))
			if d.Form != formCrash || !strings.Contains(d.Header, "Observed a panic") {
				t.Errorf("form %s, header %q", d.Form, d.Header)
			}
			diff(t, "goroutines", withoutLines(Dump{Goroutines: want}).Goroutines, d.Goroutines)
		})
	}
}

// journald says that it dropped lines under its own name; that concerns the unit it names, no other.
func TestParseSuppressed(t *testing.T) {
	var b strings.Builder
	put := func(who, line string) { b.WriteString("May 12 10:00:02 node-1 " + who + ": " + line + "\n") }
	for i, line := range block {
		put("kubelet[1]", line)
		put("containerd[2]", line)
		if i == 2 {
			put("systemd-journald[9]", "Suppressed 120 messages from kubelet.service")
		}
	}
	dumps, problems, err := Parse(strings.NewReader(b.String()))
	if err != nil || len(dumps) != 2 || len(problems) == 0 {
		t.Fatalf("got %d dumps, problems %v, error %v", len(dumps), problems, err)
	}
	kubelet, containerd := dumps[0], dumps[1]
	if !kubelet.Truncated || !kubelet.Goroutines[0].Cut || kubelet.Goroutines[0].CreatedBy != nil {
		t.Errorf("kubelet: %+v", kubelet)
	}
	if containerd.Truncated || containerd.Goroutines[0].Cut || containerd.Goroutines[0].CreatedBy == nil {
		t.Errorf("containerd: %+v", containerd)
	}
}
