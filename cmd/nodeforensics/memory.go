package main

import (
	"os"
	"runtime/debug"
)

// Soft limits of the Go runtime's memory in bytes, beside which a process has some 15 MiB of this program's own text. What
// is needed beyond them is had: the collector then takes at most half of the processor's time.
const (
	nodeMemory    = 22 << 20  // each process of an examination: the node is short of everything
	holdersMemory = 30 << 20  // who looks for holders: where each container has a copy of the mount table, collecting took a tenth of the time
	readMemory    = 160 << 20 // a command on saved files
)

// By how many percent the heap may grow before it is collected.
const (
	nodeGC    = 50
	holdersGC = 200
	readGC    = 150
)

// limitMemory makes this process small rather than fast, unless the environment says how large it may be.
func limitMemory(bytes int64, percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(bytes)
	}
}
