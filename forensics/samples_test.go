package forensics_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

func TestLatestDumps(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	later := at.Add(5 * time.Second)
	dump := func(source string, pid int, taken *time.Time, form goroutines.Form, truncated bool) forensics.Dump {
		return forensics.Dump{Source: source, PID: pid, Taken: taken, Dump: goroutines.Dump{Form: form, Truncated: truncated}}
	}
	const url = "https://10.0.0.7:10250/debug/pprof/goroutine?debug="
	for _, tt := range []struct {
		name  string
		dumps []forensics.Dump
		want  []int
	}{
		{"files are each of its own", []forensics.Dump{dump("a", 0, nil, goroutines.FormDebug2, false), dump("a", 0, nil, goroutines.FormDebug2, false)}, []int{0, 1}},
		{"the later one of a process", []forensics.Dump{dump(url, 7, &at, goroutines.FormDebug2, false), dump(url, 7, &later, goroutines.FormDebug2, false)}, []int{1}},
		{"of any order", []forensics.Dump{dump(url, 7, &later, goroutines.FormDebug2, false), dump(url, 7, &at, goroutines.FormDebug2, false)}, []int{0}},
		{"two processes", []forensics.Dump{dump(url, 7, &at, goroutines.FormDebug2, false), dump(url, 8, &later, goroutines.FormDebug2, false)}, []int{0, 1}},
		{"a whole one before a later one that is cut", []forensics.Dump{dump(url, 7, &at, goroutines.FormDebug2, false), dump(url, 7, &later, goroutines.FormDebug2, true)}, []int{0}},
		{"states before an aggregated one, which is later", []forensics.Dump{dump(url, 7, &at, goroutines.FormDebug2, false), dump(url, 7, &later, goroutines.FormDebug0, false)}, []int{0}},
		{"an aggregated one where there is no other", []forensics.Dump{dump(url, 7, &at, goroutines.FormDebug0, false)}, []int{0}},
		{"a kubelet on another machine", []forensics.Dump{dump(url+"2", 0, &at, goroutines.FormDebug2, false), dump(url+"0", 0, &at, goroutines.FormDebug0, false), dump(url+"2", 0, &later, goroutines.FormDebug2, false)}, []int{2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := forensics.NewEvidence()
			e.Dumps = tt.dumps
			if got := forensics.NewModel(&e).LatestDumps(); !slices.Equal(got, tt.want) {
				t.Errorf("LatestDumps() = %v, want %v", got, tt.want)
			}
		})
	}
}

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
			if got := forensics.NewModel(&e).Stood(1, tt.second); got != tt.want {
				t.Errorf("Stood() = %v, want %v", got, tt.want)
			}
		})
	}
}
