package main

import (
	"runtime"
	"sync"
)

// spareThreads is how many threads this process makes before it needs them. It runs a handful of goroutines, of which
// some sit in writes to a terminal, in the wait for a child, or in a write to a disk.
const (
	spareThreads = 12
	maxProcs     = 4 // the parent waits more than it computes; the garbage collector takes a thread for each
)

// reserveThreads makes threads while there may still be some to be had: the Go runtime aborts a program for which the
// kernel refuses one, and on a node whose process table is full it would do so just when the report is written. Once
// made, threads are kept and used again.
func reserveThreads(procs int) {
	runtime.GOMAXPROCS(min(procs, maxProcs))
	var all sync.WaitGroup
	all.Add(spareThreads)
	for range spareThreads {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait() // each on its own
		}()
	}
	all.Wait()
}
