package stall

import (
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// TestStood wants the same call: the same stack with the same arguments, as far as they are known for certain.
func TestStood(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	later := at.Add(5 * time.Second)
	goroutine := func(state, args string, line int) goroutines.Goroutine {
		return goroutines.Goroutine{ID: 7, Count: 1, State: state, Frames: []goroutines.Frame{{Func: "syscall.Syscall6", Args: args, Line: line}}}
	}
	first := goroutine("syscall", "0x106, 0xc000, 0x1?", 96)
	for _, tt := range []struct {
		name   string
		second goroutines.Goroutine
		want   float64
	}{
		{"the same call", first, 5},
		{"a stale register differs", goroutine("syscall", "0x106, 0xc000, 0x2?", 96), 5},
		{"another pointer", goroutine("syscall", "0x106, 0xc008, 0x1?", 96), 0},
		{"another state", goroutine("runnable", "0x106, 0xc000, 0x1?", 96), 0},
		{"another line", goroutine("syscall", "0x106, 0xc000, 0x1?", 97), 0},
		{"another goroutine", func() goroutines.Goroutine { g := first; g.ID = 8; return g }(), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := forensics.NewEvidence()
			for i, g := range []goroutines.Goroutine{first, tt.second} {
				e.Dumps = append(e.Dumps, forensics.Dump{
					PID: 4711, Taken: []*time.Time{&at, &later}[i], Dump: goroutines.Dump{Form: goroutines.FormDebug2, Goroutines: []goroutines.Goroutine{g}},
				})
			}
			if got := SameFor(&forensics.Pass{Evidence: &e, Model: forensics.NewModel(&e)}, 1, tt.second); got != tt.want {
				t.Errorf("Stood() = %v, want %v", got, tt.want)
			}
		})
	}
}
