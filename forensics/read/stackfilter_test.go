package read

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// boring is a line of a log that belongs to no stack.
func boring(n int) string {
	return fmt.Sprintf("I1120 10:27:45.%06d   15709 reconciler.go:160] Reconciler: start to sync state, round %d%s\n", n%1_000_000, n, strings.Repeat(".", n%97))
}

// filtered is what a stackFilter makes of a text that is written in pieces, with an empty line for each that it leaves out.
func filtered(t *testing.T, text string, rnd *rand.Rand) (result string, left int) {
	t.Helper()
	var out strings.Builder
	f := newStackFilter(
		func(text []byte) error { _, err := out.Write(text); return err },
		func(lines int) error { left += lines; return skipLines(&out, lines) },
	)
	for len(text) > 0 {
		n := min(1+rnd.IntN(100_000), len(text))
		if written, err := f.Write([]byte(text[:n])); written != n || err != nil {
			t.Fatal(written, err)
		}
		text = text[n:]
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String(), left
}

// TestStackFilter writes logs with a few marks: their lines and those around them come through, each in its place.
func TestStackFilter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		lines := make([]string, 500+rnd.IntN(20_000))
		for i := range lines {
			lines[i] = boring(i)
		}
		var marked []int
		for range rnd.IntN(4) {
			at := rnd.IntN(len(lines))
			lines[at] = string(stackMarks[rnd.IntN(len(stackMarks))]) + "\n"
			marked = append(marked, at)
		}
		whole := strings.Join(lines, "")
		if rnd.IntN(2) == 0 {
			whole = strings.TrimSuffix(whole, "\n")
		}
		got, left := filtered(t, whole, rnd)
		if blocks := len(whole) / stackBlock; len(marked) == 0 && blocks > 4 && left == 0 || left > len(lines) {
			t.Errorf("%d of %d lines are left out", left, len(lines))
		}
		kept := slices.Collect(strings.Lines(got))
		if len(kept) != len(lines) {
			t.Fatalf("%d lines became %d", len(lines), len(kept))
		}
		near := []int{0, len(lines) - 1}
		for _, at := range append(near, marked...) {
			for i := max(at-maxNear, 0); i < min(at+maxNear, len(lines)); i++ {
				if strings.TrimSuffix(kept[i], "\n") != strings.TrimSuffix(lines[i], "\n") {
					t.Fatalf("line %d of %d, near %d, became %q", i, len(lines), at, kept[i])
				}
			}
		}
	}
}

// maxNear is how many lines around a mark come through at least: a block has some 480 of those that [boring] makes.
const maxNear = 400

// TestStacksInALargeLog puts a dump, and a task that the kernel reports as hung, far into a log.
func TestStacksInALargeLog(t *testing.T) {
	var log strings.Builder
	line := 0
	write := func(text string) {
		log.WriteString(text)
		line += strings.Count(text, "\n")
	}
	fill := func() {
		for range 5000 {
			write(boring(line))
		}
	}
	fill()
	fill()
	write("Nov 20 10:30:00 node-1 kernel: INFO: task umount:4711 blocked for more than 120 seconds.\n" +
		"Nov 20 10:30:00 node-1 kernel: task:umount          state:D stack:    0 pid: 4711 ppid:     1 flags:0x00000004\n" +
		"Nov 20 10:30:00 node-1 kernel: Call Trace:\n")
	write("Nov 20 10:30:00 node-1 kernel:  request_wait_answer+0x13e/0x220\n" +
		"Nov 20 10:30:00 node-1 kernel:  fuse_simple_request+0x1a2/0x2c0\n")
	fill()
	write("SIGQUIT: quit\nPC=0x46a2b1 m=0 sigcode=0\n\n")
	begin := line + 1
	write("goroutine 142 [syscall, 46 minutes]:\n" +
		"syscall.Syscall6(0x106, 0xffffffffffffff9c, 0xc000b5a000, 0xc000c8e1d8, 0x100, 0x0, 0x0)\n" +
		"\t/usr/local/go/src/syscall/asm_linux_amd64.s:41 +0x5\n" +
		"os.Lstat(0xc000b5a000, 0x6f, 0x0, 0x0, 0x0, 0x0)\n" +
		"\t/usr/local/go/src/os/stat.go:22 +0x4d\n\n")
	fill()
	fill()
	saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	nodes, _ := Files(t.Context(), Options{Now: saved}, FSFile(fstest.MapFS{"kubelet.log": {Data: []byte(log.String()), ModTime: saved}}, "kubelet.log"))
	var dumps []forensics.Dump
	var waits []string
	for _, n := range nodes {
		dumps = append(dumps, n.Dumps...)
		for _, thread := range n.Threads {
			waits = append(waits, fmt.Sprintf("%d %s", thread.TID, thread.Wait.Function))
		}
	}
	if len(dumps) != 1 || len(dumps[0].Goroutines) != 1 || dumps[0].Goroutines[0].Line != begin || dumps[0].Header != "SIGQUIT: quit" {
		t.Errorf("dumps: %+v, want goroutine 142 at line %d", dumps, begin)
	}
	if !slices.Equal(waits, []string{"4711 request_wait_answer"}) {
		t.Errorf("threads that wait: %q", waits)
	}
}
