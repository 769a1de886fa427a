package goroutines

import (
	"strings"
	"testing"
)

// TestParseHeadless reads stacks of which the header is missing.
func TestParseHeadless(t *testing.T) {
	inner := "os.Stat(0xc002b20d20, 0x60)\n\t/usr/local/go/src/os/stat.go:13 +0x4d\n"
	outer := "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).HandlePodCleanups(0xc0)\n\t/go/src/kubelet_pods.go:1109 +0x6b8\n"
	creator := "created by k8s.io/kubernetes/cmd/kubelet/app.startKubelet\n\t/go/src/server.go:1184 +0x113\n"
	tests := []struct {
		name, text string
		frames     []int // of each goroutine
		cut        bool  // the first lacks its outer frames
	}{
		{"frames and the creator", inner + outer + creator, []int{2}, false},
		{"from the middle, cut at its end", inner + outer, []int{2}, true},
		{"behind prose", "Here it is:\n\n" + inner + outer + creator + "\nThanks\n", []int{2}, false},
		{"two", inner + outer + creator + "\n" + inner + outer, []int{2, 2}, false},
		{"one call alone is none", inner, nil, false},
		{"no distances: another language, or an error's stack", "main.a(0x1)\n\t/src/a.go:1\nmain.b(0x1)\n\t/src/b.go:2\n", nil, false},
		{"prose with calls", "I called foo.bar(1, 2)\nand then baz.qux(3)\n", nil, false},
		{"of a program that panicked", "panic(0x1, 0x2)\n\t/usr/local/go/src/runtime/panic.go:522 +0x1b5\n" + inner + outer + creator, nil, false},
		{"that wrote its own stack", "runtime/debug.Stack(0x0)\n\t/usr/local/go/src/runtime/debug/stack.go:24 +0x9d\n" + outer + creator, nil, false},
		{"before a dump", inner + outer + creator + "\ngoroutine 7 [select, 3 minutes]:\n" + outer + creator, []int{2, 1}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dumps, problems, _ := Parse(strings.NewReader(test.text))
			var frames []int
			for _, d := range dumps {
				if !d.Truncated {
					t.Errorf("the dump of %d goroutines is not truncated", len(d.Goroutines))
				}
				for _, g := range d.Goroutines {
					frames = append(frames, len(g.Frames))
				}
			}
			diff(t, "frames", test.frames, frames)
			if len(dumps) > 0 {
				if g := dumps[0].Goroutines[0]; g.ID != 0 || g.State != "" || g.Cut != test.cut || len(problems) == 0 {
					t.Errorf("got %+v with problems %v, want cut %v", g, problems, test.cut)
				}
			}
		})
	}
}
