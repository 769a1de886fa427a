package forensics

import (
	"fmt"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/stackdump"
)

// Join says that a goroutine is a thread: both are in the same system call with the same pointers.
type Join struct {
	// Dump is the index in Evidence.Dumps.
	Dump      int
	Goroutine int64
	Thread    procs.Thread
	// Pointer is the argument that stands in both, in hexadecimal.
	Pointer string
	// Certain is false when the dump does not say which process it is of.
	Certain bool
}

// joinGoroutines pairs goroutines and threads whose system call and pointer arguments are the same. A pair counts only
// if it is the only one for both sides.
func joinGoroutines(e *Evidence) []Join {
	var joins []Join
	for i, d := range e.Dumps {
		joins = append(joins, joinDump(i, d, e.Threads)...)
	}
	return joins
}

func joinDump(index int, d Dump, threads []procs.Thread) []Join {
	need := 1
	if d.PID == 0 { // heaps of two processes of one program may look alike: one equal pointer is not enough
		need = 2
	}
	var waiting []call
	like := map[string]int{} // goroutines by their call
	shapes := map[shape]bool{}
	for i := range d.Goroutines {
		if c, ok := callOf(&d.Goroutines[i]); ok && c.pointers >= need {
			waiting = append(waiting, c)
			like[c.key]++
			shapes[c.shape] = true
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	in, goroutines := map[string][]int{}, map[int]int{} // threads by what a goroutine in the same call knows of it
	for i := range threads {
		if d.PID != 0 && d.PID != threads[i].PID {
			continue
		}
		for s := range shapes {
			if key, ok := s.key(threads[i].Syscall); ok {
				in[key] = append(in[key], i)
				goroutines[i] += like[key]
			}
		}
	}
	var found []Join
	for _, c := range waiting {
		if same := in[c.key]; len(same) == 1 && goroutines[same[0]] == 1 {
			t := threads[same[0]]
			found = append(found, Join{Dump: index, Goroutine: c.goroutine, Thread: t, Pointer: t.Syscall.Args[c.first], Certain: d.PID != 0})
		}
	}
	return found
}

// A call is a system call as a goroutine knows it. Two goroutines in calls of one key cannot be told apart.
type call struct {
	goroutine int64
	shape     shape
	key       string
	first     int // the first argument that is a pointer
	pointers  int
}

// A shape is a system call by its number and which arguments are known for certain. There are few of them.
type shape struct {
	number uint64
	known  [6]bool
}

func callOf(g *stackdump.Goroutine) (call, bool) {
	s, ok := g.Syscall()
	if !ok || g.ID == 0 {
		return call{}, false
	}
	c := call{goroutine: g.ID, shape: shape{number: s.Number}}
	args := make([]uint64, len(c.shape.known))
	for i, word := range s.Args[:min(len(s.Args), len(args))] {
		if !word.Known || word.Uncertain {
			continue
		}
		c.shape.known[i], args[i] = true, word.Value
		if isPointer(word.Value) {
			if c.pointers == 0 {
				c.first = i
			}
			c.pointers++
		}
	}
	c.key = c.shape.spell(args)
	return c, true
}

func (s shape) spell(args []uint64) string {
	return fmt.Sprint(s, args)
}

// key is the key that a goroutine has which is in a thread's system call and knows so much of it.
func (s shape) key(t *procs.Syscall) (string, bool) {
	if t == nil || t.Number < 0 || uint64(t.Number) != s.number {
		return "", false
	}
	args := make([]uint64, len(s.known))
	for i, known := range s.known {
		if !known {
			continue
		}
		if i >= len(t.Args) {
			return "", false
		}
		value, err := strconv.ParseUint(t.Args[i], 0, 64)
		if err != nil {
			return "", false
		}
		args[i] = value
	}
	return s.spell(args), true
}

// isPointer leaves out small numbers (descriptors, flags, lengths) and negative ones (AT_FDCWD): user space ends
// below 2^56 on every 64-bit Linux.
func isPointer(v uint64) bool { return v >= 1<<16 && v < 1<<56 }
