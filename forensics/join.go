package forensics

import (
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// Join says that a thread runs a goroutine: the runtime of the program says so, or both are in the same system call with the same pointers.
type Join struct {
	// Dump is the index in Evidence.Dumps.
	Dump      int
	Goroutine int64
	Thread    procs.Thread
	// Pointer is the argument that both have, in hexadecimal; absent where the runtime of the program says it.
	Pointer string
	// Certain is false if the process of the dump is unknown.
	Certain bool
}

// joinGoroutines pairs goroutines and threads whose system call and pointer arguments are the same. A pair counts only
// if it is the only one for both sides.
func joinGoroutines(e *Evidence) []Join {
	waiting := make([][]call, len(e.Dumps))
	shapes := map[shape]bool{}
	for i := range e.Dumps {
		waiting[i] = callsOf(&e.Dumps[i])
		for _, c := range waiting[i] {
			shapes[c.shape] = true
		}
	}
	in := map[callOf][]int32{} // threads by the arguments that a goroutine in the same call has
	for i := range e.Threads {
		t := &e.Threads[i]
		for s := range shapes {
			if key, ok := s.key(t.Syscall); ok {
				in[callOf{0, key}] = append(in[callOf{0, key}], int32(i))
				if t.PID != 0 {
					in[callOf{t.PID, key}] = append(in[callOf{t.PID, key}], int32(i))
				}
			}
		}
	}
	joins := joinByThread(e)
	for i, list := range waiting {
		joins = append(joins, joinDump(i, &e.Dumps[i], list, in, e.Threads)...)
	}
	return joins
}

// joinByThread pairs goroutines with the threads that the runtime of their program has put them on. A program can say so of its own
// threads alone.
func joinByThread(e *Evidence) (joins []Join) {
	threads := map[[2]int]int{}
	for i, t := range e.Threads {
		threads[[2]int{t.PID, t.TID}] = i
	}
	for i := range e.Dumps {
		d := &e.Dumps[i]
		for _, g := range d.Goroutines {
			if at, ok := threads[[2]int{d.PID, g.Thread}]; ok && g.Thread != 0 && d.PID != 0 && g.ID != 0 {
				joins = append(joins, Join{Dump: i, Goroutine: g.ID, Thread: e.Threads[at], Certain: true})
			}
		}
	}
	return joins
}

// callOf is a call of a process, or of any (0).
type callOf struct {
	pid int
	key callKey
}

func joinDump(index int, d *Dump, waiting []call, in map[callOf][]int32, threads []procs.Thread) []Join {
	like, shapes := map[callKey]int{}, map[shape]bool{}
	for _, c := range waiting {
		like[c.callKey]++
		shapes[c.shape] = true
	}
	var found []Join
	for _, c := range waiting {
		same := in[callOf{d.PID, c.callKey}]
		if len(same) != 1 {
			continue
		}
		t := threads[same[0]]
		goroutines := 0
		for s := range shapes {
			if key, ok := s.key(t.Syscall); ok {
				goroutines += like[key]
			}
		}
		if goroutines == 1 {
			found = append(found, Join{Dump: index, Goroutine: c.goroutine, Thread: t, Pointer: t.Syscall.Args[c.first], Certain: d.PID != 0})
		}
	}
	return found
}

// callsOf are the system calls by which goroutines of a dump can be recognized.
func callsOf(d *Dump) []call {
	need := 1
	if d.PID == 0 { // heaps of two processes of one program may look alike: one equal pointer is not enough
		need = 2
	}
	var calls []call
	for i := range d.Goroutines {
		if c, ok := newCall(&d.Goroutines[i]); ok && c.pointers >= need {
			calls = append(calls, c)
		}
	}
	return calls
}

// A call is a system call as a dump shows it. Two goroutines in calls with one key cannot be distinguished.
type call struct {
	callKey
	goroutine int64
	first     int // the first argument that is a pointer
	pointers  int
}

// A callKey is a call and the arguments that are known, 0 for the others.
type callKey struct {
	shape shape
	args  [6]uint64
}

// A shape is a system call by its number and which arguments are known for certain. There are few of them.
type shape struct {
	number uint64
	known  [6]bool
}

func newCall(g *goroutines.Goroutine) (call, bool) {
	s, ok := g.Syscall()
	if !ok || g.ID == 0 {
		return call{}, false
	}
	c := call{goroutine: g.ID, callKey: callKey{shape: shape{number: s.Number}}}
	for i, word := range s.Args[:min(len(s.Args), len(c.args))] {
		if !word.Known || word.Uncertain {
			continue
		}
		c.shape.known[i], c.args[i] = true, word.Value
		if isPointer(word.Value) {
			if c.pointers == 0 {
				c.first = i
			}
			c.pointers++
		}
	}
	return c, true
}

// key is the key of a goroutine in a thread's system call whose known arguments have this shape.
func (s shape) key(t *procs.Syscall) (key callKey, ok bool) {
	if t == nil || t.Number < 0 || uint64(t.Number) != s.number {
		return key, false
	}
	key.shape = s
	for i, known := range s.known {
		if !known || i >= len(t.Args) {
			continue
		}
		value, err := strconv.ParseUint(t.Args[i], 0, 64)
		if err != nil {
			return key, false
		}
		key.args[i] = value
	}
	return key, true
}

// isPointer leaves out small numbers (descriptors, flags, lengths) and negative ones (AT_FDCWD): user space ends
// below 2^56 on every 64-bit Linux.
func isPointer(v uint64) bool { return v >= 1<<16 && v < 1<<56 }
