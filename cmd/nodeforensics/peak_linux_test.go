package main

import (
	"os"
	"syscall"
)

// peakMemory is the largest resident set of an ended process in bytes, 0 where that is not known.
func peakMemory(p *os.ProcessState) int64 {
	if usage, ok := p.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss * 1024
	}
	return 0
}
