package forensics

import (
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
	var found []Join
	goroutines, tids := map[int64]int{}, map[int]int{}
	for _, g := range d.Goroutines {
		call, ok := g.Syscall()
		if !ok || g.ID == 0 {
			continue
		}
		for _, t := range threads {
			if t.Syscall == nil || d.PID != 0 && d.PID != t.PID {
				continue
			}
			pointer, pointers := samePointers(call, *t.Syscall)
			// Heaps of two processes of one program may look alike: without a pid one equal pointer is not enough.
			if pointers == 0 || d.PID == 0 && pointers < 2 {
				continue
			}
			goroutines[g.ID]++
			tids[t.TID]++
			found = append(found, Join{
				Dump: index, Goroutine: g.ID, Thread: t, Pointer: pointer, Certain: d.PID != 0,
			})
		}
	}
	unique := found[:0]
	for _, j := range found {
		if goroutines[j.Goroutine] == 1 && tids[j.Thread.TID] == 1 {
			unique = append(unique, j)
		}
	}
	return unique
}

// samePointers compares the system call of a goroutine with that of a thread. It returns the first equal pointer and
// the number of equal pointers, 0 if anything differs that both know.
func samePointers(g stackdump.Syscall, t procs.Syscall) (first string, pointers int) {
	if t.Number < 0 || g.Number != uint64(t.Number) {
		return "", 0
	}
	for i, word := range g.Args {
		if i >= len(t.Args) {
			break
		}
		if !word.Known || word.Uncertain {
			continue
		}
		value, err := strconv.ParseUint(t.Args[i], 0, 64)
		if err != nil || value != word.Value {
			return "", 0
		}
		if isPointer(value) {
			if pointers == 0 {
				first = t.Args[i]
			}
			pointers++
		}
	}
	return first, pointers
}

// isPointer leaves out small numbers (descriptors, flags, lengths) and negative ones (AT_FDCWD): user space ends
// below 2^56 on every 64-bit Linux.
func isPointer(v uint64) bool { return v >= 1<<16 && v < 1<<56 }
