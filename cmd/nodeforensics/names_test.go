package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile is what a name may hold: newline, escape sequences, a direction mark and bytes that are no UTF-8.
const hostile = "\x1b[31m\x1b]0;x\x07\x9b1m\u202e\xff\n\r"

// checkTerminal wants text that only says something: no character that a terminal acts on but the end of a line.
func checkTerminal(t *testing.T, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("a terminal would act on %.300q", line)
		}
	}
}

// TestHostileNames gives each command that reads files names and contents that a terminal would act on.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	dir, inLine := t.TempDir(), strings.NewReplacer("\n", "", "\r", "").Replace(hostile)
	long := strings.Repeat("x", 4000) + "/the-end"
	write := func(name, text string) string {
		file := filepath.Join(dir, name+hostile)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Skip(err) // not every file system takes such names
		}
		return file
	}
	dump := write("dump", fmt.Sprintf("goroutine 1 [chan receive, 5 minutes]:\nmain.f%[1]s(0x1)\n\t/a%[1]s/x.go:1 +0x1\ncreated by main.g%[1]s in goroutine 7\n\t/c/z.go:3\n\n"+
		"goroutine 2 [select]:\nexample.org/x.f%[2]s(0x1)\n\t/%[2]s.go:1 +0x1\n", strings.ReplaceAll(inLine, "[", ""), long))
	log := write("log", fmt.Sprintf("Nov 21 10:00:00 host%[1]s kubelet[1]: E1121 10:00:00.000000       1 kubelet_volumes.go:154] orphaned pod "+
		"\"5c948341-c030-4996-b888-f032577d97b0\" found, but volume paths are still present on disk%[1]s : There were a total of 1 errors similar to this.\n"+
		"Nov 21 10:00:00 host kubelet[1]: E1121 10:00:00.000000       1 nestedpendingoperations.go:301] Operation for \"{volumeName:%[1]s%[2]s podName: nodeName:}\" failed. "+
		"No retries permitted until 2026-11-21 10:02:02.000000000 +0000 UTC m=+1.0 (durationBeforeRetry 2m2s). Error: \"UnmountDevice failed: umount: %[1]s%[2]s: target is busy.\"\n"+
		"Nov 21 10:00:01 host kernel: INFO: task evil%[1]s:123 blocked for more than 120 seconds.\n", inLine, long))
	missing := filepath.Join(dir, "missing"+hostile)
	for _, args := range [][]string{
		{"goroutines", dump},
		{"goroutines", missing},
		{"logs", log},
		{"logs", missing},
		{"analyze", missing},
		{"analyze", "--output-dir", t.TempDir(), log},
		{"analyze", "--output-dir", missing, log},
		{"render", missing},
		{"plan", missing},
		{"holders", hostile},
		{"checks", hostile},
		{hostile},
		{"--" + hostile},
		{"goroutines", dump, dump},
		{"logs", "-o", "json", missing},
	} {
		o := finish(t, command(t, args...))
		if !strings.Contains(o.stdout+o.stderr, `\x1b`) && args[0] != "analyze" {
			t.Errorf("%.60q does not show the name:\n%s%s", args, o.stdout, o.stderr)
		}
		checkTerminal(t, o.stdout)
		checkTerminal(t, o.stderr)
		for line := range strings.Lines(o.stdout) {
			if len(line) > 1200 {
				t.Errorf("%.60q writes a line of %d bytes: %.200q", args, len(line), line)
			}
		}
	}
	for _, args := range [][]string{{"goroutines", "-o", "json", dump}, {"logs", "-o", "json", log}, {"holders", "-o", "json", "/" + hostile}} {
		o := finish(t, command(t, args...))
		if !json.Valid([]byte(o.stdout)) {
			t.Errorf("%.60q: no JSON: %.300q %s", args, o.stdout, o.stderr)
		}
		checkTerminal(t, o.stdout)
	}
}
