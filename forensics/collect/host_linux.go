package collect

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/load"
	"github.com/shirou/gopsutil/v3/mem"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// nodeFacts asks the kernel, through gopsutil where that only reads files: its look for the distribution may run
// lsb_release.
func (c *collector) nodeFacts(ctx context.Context) (forensics.Evidence, error) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return forensics.Evidence{}, err
	}
	n := forensics.Node{
		Name: unix.ByteSliceToString(uts.Nodename[:]), Kernel: unix.ByteSliceToString(uts.Release[:]),
		Arch: unix.ByteSliceToString(uts.Machine[:]),
	}
	name, err1 := osName(c.fs)
	n.OS = name
	seconds, err2 := host.BootTimeWithContext(ctx)
	if err2 == nil {
		boot := time.Unix(int64(seconds), 0).UTC()
		n.Boot = &boot
	}
	memory, err3 := mem.VirtualMemoryWithContext(ctx)
	if err3 == nil {
		n.MemoryBytes = memory.Total
	}
	average, err4 := load.AvgWithContext(ctx)
	if err4 == nil {
		n.Load = []float64{average.Load1, average.Load5, average.Load15}
	}
	var err5 error
	n.CPUs, err5 = onlineCPUs(c.fs)
	return forensics.Evidence{Node: n}, errors.Join(err1, err2, err3, err4, err5)
}

// onlineCPUs counts the lines of processors in /proc/stat, proc_stat(5). gopsutil's package reads that file whenever a
// program starts, and so ends one that has no descriptor left with a page of traces of the Go runtime.
func onlineCPUs(fsys *hostfs.FS) (n int, err error) {
	text, err := fsys.ReadFile("/proc/stat", 4<<20)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "cpu"); ok && !strings.HasPrefix(rest, " ") {
			n++
		}
	}
	return n, err
}

func selfPID() int { return os.Getpid() }

// privileged says whether other users' threads can be examined.
func privileged() bool { return os.Geteuid() == 0 }

// peakMemory is the largest resident set of this process in bytes (getrusage(2)).
func peakMemory() int64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Maxrss << 10
}

// ownNamespace is the inode of this process's mount namespace, 0 if unknown.
func ownNamespace(fsys *hostfs.FS) uint64 { return ownNS(fsys, "mnt") }

// ownUserNS is the inode of this process's user namespace, 0 if unknown.
func ownUserNS(fsys *hostfs.FS) uint64 { return ownNS(fsys, "user") }

func ownNS(fsys *hostfs.FS, kind string) uint64 {
	link, err := fsys.ReadLink("/proc/" + strconv.Itoa(os.Getpid()) + "/ns/" + kind)
	if err != nil {
		return 0
	}
	ns, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, kind+":["), "]"), 10, 64)
	if err != nil {
		return 0
	}
	return ns
}
