package read_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// messages are what programs write, without any prefix, by the kind that they are.
var messages = map[logs.Kind]string{
	logs.KindOrphan:           `orphaned pod "11111111-2222-3333-4444-555555555555" found, but volume paths are still present on disk : There were a total of 3 errors similar to this. Turn up verbosity to see them.`,
	logs.KindPLEGUnhealthy:    `skipping pod synchronization - [PLEG is not healthy: pleg was last seen active 8m0.1s ago; threshold is 3m0s]`,
	logs.KindEventChannelFull: `event channel is full, discard this relist() cycle event`,
	logs.KindRuntimeDown:      `Container runtime sanity check failed: rpc error: code = Unknown desc = Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?`,
	logs.KindAPIUnreachable:   `Unable to update node status: update node status exceeds retry count, Get https://10.0.0.1:6443/api/v1/nodes/node-1: dial tcp 10.0.0.1:6443: connect: connection refused`,
	"image-gc-failed":         `Image garbage collection failed multiple times in a row: failed to garbage collect required amount of images. Wanted to free 1048576 bytes, but freed 0 bytes`,
	"volumes-not-mounted":     `Unable to mount volumes for pod "web-0_default(11111111-2222-3333-4444-555555555555)": timeout expired waiting for volumes to attach or mount for pod "default"/"web-0". list of unmounted volumes=[data]. list of unattached volumes=[data token]`,
	"kernel-nfs-down":         `nfs: server 10.0.0.5 not responding, still trying`,
	"kernel-hung-task":        `INFO: task kubelet:9839 blocked for more than 120 seconds.`,
	"kernel-oom-cgroup":       `Memory cgroup out of memory: Killed process 4711 (java) total-vm:8388608kB, anon-rss:4194304kB, file-rss:0kB`,
}

// forms are how a line reaches a reader.
var forms = map[string]func(line string) string{
	"as it is":          func(s string) string { return s },
	"CRLF":              func(s string) string { return s + "\r" },
	"fenced":            func(s string) string { return "Here it is:\n```\n" + s + "\n```\nThanks!" },
	"fenced as a file":  func(s string) string { return "```console\n" + s + "\n```" },
	"a list, backticks": func(s string) string { return "- `" + s + "`" },
	"backticks":         func(s string) string { return "`" + s + "`" },
	"quoted":            func(s string) string { return "They wrote:\n> " + s },
	"quoted twice":      func(s string) string { return "> > " + s },
	"a list":            func(s string) string { return "- " + s },
	"a numbered list":   func(s string) string { return "12. " + s },
	"a bullet":          func(s string) string { return " • " + s },
	"a TAB":             func(s string) string { return "\t" + s },
	"four blanks":       func(s string) string { return "    " + s },
	"no-break spaces":   func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") },
	"smart quotes":      func(s string) string { return strings.ReplaceAll(s, `"`, "”") },
	"HTML entities": func(s string) string {
		return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;").Replace(s)
	},
	"HTML":           func(s string) string { return "<pre>" + s + "</pre>" },
	"between prose":  func(s string) string { return "My node fails.\n\n" + s + "\n\nIt has 64 cores." },
	"wrapped at 80":  func(s string) string { return wrapAt(80, s) },
	"wrapped at 130": func(s string) string { return wrapAt(130, s) },
}

// prefixes are what stands before a message.
var prefixes = map[string]string{
	"none":                   "",
	"klog":                   "E1120 10:02:45.000001    2588 file.go:301] ",
	"the file alone":         "file.go:301] ",
	"a console's copy":       "5/29/2017 4:45:11 PME1120 10:02:45.000001    2588 file.go:301] ",
	"journal":                "Nov 20 10:02:45 node-1 kubelet[2588]: ",
	"journal and klog":       "Nov 20 10:02:45 node-1 kubelet[2588]: E1120 10:02:45.000001    2588 file.go:301] ",
	"journal without a date": "10:02:45 node-1 kubelet[2588]: ",
	"a French journal":       "nov. 20 10:02:45 node-1 kubelet[2588]: ",
	"a Russian journal":      "ноя 20 10:02:45 node-1 kubelet[2588]: ",
	"ISO":                    "2026-11-20T10:02:45+0000 node-1 kubelet[2588]: ",
}

func wrapAt(width int, line string) string {
	var b strings.Builder
	for i, c := range []rune(line) {
		if i > 0 && i%width == 0 {
			b.WriteByte('\n')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// TestFormsOfLines: a message is the same by whatever way it comes. A message without any prefix that is wrapped is the one cell
// that is left out: nothing tells that its second half is one.
func TestFormsOfLines(t *testing.T) {
	t.Parallel()
	cells, failed := 0, 0
	for kind, message := range messages {
		kernel := strings.Contains("kernel-nfs-down kernel-hung-task kernel-oom-cgroup", string(kind))
		for before, prefix := range prefixes {
			if kernel {
				if strings.Contains(prefix, ".go:") {
					continue
				}
				prefix = strings.ReplaceAll(prefix, "kubelet[2588]", "kernel")
			}
			for form, write := range forms {
				text := write(prefix + message)
				if strings.HasPrefix(form, "wrapped") && (before == "none" || before == "the file alone") && strings.Contains(text, "\n") {
					continue
				}
				cells++
				if got := kindsIn(t, text); !slices.Equal(got, []logs.Kind{kind}) {
					failed++
					t.Errorf("%s, %s, %s: %v\n%s", kind, before, form, got, text)
				}
			}
		}
	}
	t.Logf("%d of %d cells failed", failed, cells)
}

func kindsIn(t *testing.T, text string) (kinds []logs.Kind) {
	t.Helper()
	nodes, _ := read.Files(t.Context(), read.Options{Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}, onDisk("paste", text+"\n"))
	if e := nodes[0]; e.Logs != nil {
		for _, ev := range e.Logs.Events {
			kinds = append(kinds, ev.Kind)
		}
	}
	return kinds
}
