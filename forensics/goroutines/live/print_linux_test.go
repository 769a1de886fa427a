package live

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

// What is read from memory has headers as Go prints them: the minutes of a wait from the first whole one on, and none before. Who reads
// "0 minutes" believes that the runtime measured that.
func TestHeadersHaveWholeMinutes(t *testing.T) {
	const now = time.Hour
	for waited, want := range map[time.Duration]string{
		59 * time.Second: "goroutine 7 [syscall]:\n", 61 * time.Second: "goroutine 7 [syscall, 1 minutes]:\n", 10 * time.Minute: "goroutine 7 [syscall, 10 minutes]:\n",
	} {
		var b strings.Builder
		w := bufio.NewWriter(&b)
		p := program{places: map[uint64]*place{0: nil}} // nobody has created it
		p.print(w, g{id: 7, status: statusSyscall, waitSince: int64(now - waited)}, nil, nil, true, now)
		_ = w.Flush()
		if !strings.HasPrefix(b.String(), want) {
			t.Errorf("after %v: %q, want %q", waited, b.String(), want)
		}
	}
}

// TestShown leaves out of a stack what the Go runtime leaves out of its own dumps.
func TestShown(t *testing.T) {
	for name, want := range map[string]bool{
		"main.main": true, "runtime.GC": true, "runtime.Zero": true, "runtime.gopark": false, "runtime._panic": false, "runtime.": false, "_cgo_topofstack": false,
		"runtime/debug.free": true,
	} {
		if shown(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
