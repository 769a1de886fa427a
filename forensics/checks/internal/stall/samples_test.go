package stall

import (
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
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

// Two dumps that show the same call make a wait likely, even with its thread: only the thread's own clock, or the dump's, proves one. A
// client that tries again and again looks the same, and must not be called certain.
func TestTwoDumpsAloneProveNoWait(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	later := at.Add(50 * time.Second)
	g := goroutines.Goroutine{ID: 7, Count: 1, State: "syscall", Thread: 4712, Frames: []goroutines.Frame{
		{Func: "syscall.Syscall6", Args: "0x106, 0xc000, 0x1", Line: 96}, {Func: "syscall.fstatat", Line: 1437}, {Func: "os.Stat", Line: 13}, {Func: "main.main", Line: 1},
	}}
	for name, tt := range map[string]struct {
		waits  *float64 // by the thread
		proven bool
	}{
		"no clock of the thread": {nil, false}, "the thread has not run for longer": {func() *float64 { s := 55.0; return &s }(), true},
	} {
		e := forensics.NewEvidence()
		for _, taken := range []*time.Time{&at, &later} {
			e.Dumps = append(e.Dumps, forensics.Dump{PID: 4711, Taken: taken, Dump: goroutines.Dump{Form: goroutines.FormDebug2, Goroutines: []goroutines.Goroutine{g}}})
		}
		e.Threads = []procs.Thread{{PID: 4711, TID: 4712, State: "D", WaitSeconds: tt.waits}}
		p := &forensics.Pass{Evidence: &e, Model: forensics.NewModel(&e)}
		got, ok := Stalled(p, stackOf(p, 1, 0))
		if !ok || got.Thread == nil || got.Proven != tt.proven {
			t.Errorf("%s: stalled %v, thread %v, proven %v (%s)", name, ok, got.Thread, got.Proven, got.Why)
		}
	}
}
