package live

import (
	"cmp"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// Options say how processes are read. The zero value will do.
type Options struct {
	// Group remembers the reads that have not returned.
	Group *probe.Group
	// PIDs are the processes to read; all of them if there are none.
	PIDs []int
	// Brief is a mount namespace: of the processes in it, who they are (user, user namespace, command line, cgroup) is left out, which is
	// most of the work. 0 is none.
	Brief uint64
	// Self are the processes of the examination itself: their threads are left out of Threads.
	Self []int
	// Table returns the mount table of a mount namespace as it is seen from the root of that, or nil if there is none. It
	// can be read through the thread: that is in the namespace and has not been chrooted. (/proc/TID/mountinfo exists
	// for every thread. The first thread of its process may have ended or be in another namespace.) Table is asked for
	// each thread of which a path is known, so it should remember its answers by namespace. Without it the mount of a
	// path is not known.
	Table func(tid int, ns uint64) *mounts.Index
	// Identify chooses the processes whose Identity is read, by what they call themselves; nil chooses none.
	Identify func(comm string, command []string) bool
	// Limits keep the work in bounds.
	Limits Limits
}

// Limits bound what is read. A limit of 0 is the default, which no healthy machine reaches; reaching one is a problem
// in the Snapshot.
type Limits struct {
	// Processes is the number of processes that are read, lowest pids first (default 131,072).
	Processes int
	// Tasks is the number of threads of one process that are read (default 65,536).
	Tasks int
	// Threads is the number of waiting threads that are described (default 16,384).
	Threads int
	// Read is how long reading from a process may take that needs its memory map or its exec lock: command line, kernel
	// stack, system call, path (default 300 ms). After one such read has not returned, the process is not asked again.
	Read time.Duration
	// Lost is the number of processes that may fail to answer within Read (default 16). After that, reads get a tenth of
	// the time, and processes that have a waiting thread, and so might not answer either, are not asked for their command
	// lines.
	Lost int
}

func (l Limits) withDefaults() Limits {
	l.Processes = cmp.Or(l.Processes, 131_072)
	l.Tasks = cmp.Or(l.Tasks, 65_536)
	l.Threads = cmp.Or(l.Threads, 16_384)
	l.Read = cmp.Or(l.Read, 300*time.Millisecond)
	l.Lost = cmp.Or(l.Lost, 16)
	return l
}

// What a single file may hold. The kernel keeps all of these shorter, except for the command line.
const (
	limitSmall   = 64 << 10 // stat, status, wchan, syscall, stack, cgroup, fdinfo, sched
	limitCommand = 64 << 10
	limitSystem  = 8 << 20 // /proc/stat grows with the number of interrupts
)

// A Snapshot is what one pass over /proc showed.
type Snapshot struct {
	// Processes are sorted by pid, kernel threads included.
	Processes []procs.Process
	// Threads are those that wait in a file system or in the block layer, sorted by pid and tid.
	Threads []procs.Thread
	// BootTime is when the machine was started, to the second; zero if unknown.
	BootTime time.Time
	// Problems say what could not be read or was cut, one error for each sort of trouble. Processes that ended
	// meanwhile are none.
	Problems []error
}
