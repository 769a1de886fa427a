package live

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// cpuClock moves the calling thread to a CPU, reads the scheduler's clock there, and lets the thread go where it was
// allowed to be before.
func cpuClock(fsys *hostfs.FS, cpu int) (ms float64, err error) {
	runtime.LockOSThread()
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return 0, fmt.Errorf("%w: cpu %d: %w", errNoClock, cpu, err) // more CPUs than fit the set
	}
	if only.Set(cpu); only.Count() != 1 {
		runtime.UnlockOSThread()
		return 0, fmt.Errorf("%w: cpu %d", errNoClock, cpu)
	}
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		runtime.UnlockOSThread()
		return 0, fmt.Errorf("%w: cpu %d: %w", errNoClock, cpu, err) // outside of the cpuset, or offline
	}
	ms, err = ownClock(fsys, cpu)
	if restore := unix.SchedSetaffinity(0, &before); restore != nil {
		// The thread stays locked and so ends with its goroutine: nothing else runs on it.
		return ms, errors.Join(err, fmt.Errorf("%w: cpu %d: %w", errNoClock, cpu, restore))
	}
	runtime.UnlockOSThread()
	return ms, err
}

// ownClock reads when the calling thread began to run on the CPU, which is now or at most one timer tick ago.
func ownClock(fsys *hostfs.FS, cpu int) (float64, error) {
	self, err := fsys.ReadLink("/proc/thread-self") // "PID/task/TID", in the PID namespace of that /proc; Linux 3.17
	if err != nil {
		return 0, err
	}
	text, err := fsys.ReadFile("/proc/"+self+"/sched", limitSmall)
	if err != nil {
		return 0, err
	}
	ms, ok := parseExecStart(text)
	if text, err = fsys.ReadFile("/proc/"+self+"/stat", limitSmall); err != nil {
		return 0, err
	}
	stat, err := procs.ParseStat(text)
	if err != nil {
		return 0, err
	}
	if !ok || ms == 0 || stat.Processor != cpu {
		return 0, fmt.Errorf("%w: cpu %d", errNoClock, cpu)
	}
	return ms, nil
}

func threadID() int { return unix.Gettid() }

func ownPID() int { return unix.Getpid() }
