// Package live reads the goroutines of a running Go program from its memory, without asking it, stopping it or attaching to it.
//
// It opens /proc/PID/mem for reading, finds the runtime's tables there (also in a stripped, position-independent or cgo program), and
// unwinds each stack with them, as runtime/traceback.go does. Needed is CAP_SYS_PTRACE or the same user (ptrace(2), "Ptrace access mode
// checking"); no tracing happens. Nothing is read but structures of the runtime, tables of functions, and stacks.
//
// A read takes the mmap lock of the process: it blocks where a thread of it holds that lock while it waits for a dead file system. A
// page of the executable that is not in memory is read from its disk. So a caller that must not hang reads in a process of its own.
//
// The process goes on meanwhile, and any program can have anything in its memory: what is returned is the program's own word.
package live
