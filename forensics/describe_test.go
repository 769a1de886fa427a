package forensics_test

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

func TestDuration(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0 µs", 0.00002: "20 µs", 0.0009999: "999 µs", 0.001: "1 ms", 0.3: "300 ms", 0.9999: "999 ms",
		1: "1 s", 1.25: "1.2 s", 5: "5 s", 9.94: "9.9 s", 9.99: "10 s", 10: "10 s", 15.7: "15 s", 119.9: "119 s", 120: "2 min",
		2760: "46 min", 3599: "59 min", 3600: "1 h", 11100: "3 h 5 min", 172799: "47 h 59 min", 172800: "2 d", 187200: "2 d 4 h",
	} {
		if got := text.Duration(seconds); got != want {
			t.Errorf("Duration(%v) = %q, want %q", seconds, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for _, tt := range []struct {
		n          int
		noun, want string
	}{{0, "pod", "0 pods"}, {1, "pod", "1 pod"}, {3, "pod", "3 pods"}, {1, "directory", "1 directory"}, {2, "directory", "2 directories"}} {
		if got := text.Plural(tt.n, tt.noun); got != tt.want {
			t.Errorf("Plural(%d, %q) = %q, want %q", tt.n, tt.noun, got, tt.want)
		}
	}
}

// TestEveryEntityIsDescribed also where nothing is known of it, since evidence may be torn.
func TestEveryEntityIsDescribed(t *testing.T) {
	seconds := 720.0
	known := forensics.NewEvidence()
	known.Kubelet = &kubelet.Instance{PID: kubeletPID, Version: "1.17.4"}
	known.Mounts.Mounts = []mounts.Mount{fuseMount(59, "0:46", deadPoint)}
	known.Probes = []mounts.Probe{{Device: "0:46", Call: "statx", Pending: true, Seconds: 720, Awake: 720}}
	thread := fuseThread(kubeletPID, 9839, "0:46", "0xffffffffffffff9c", "0x63d87030c40", "0x63d865286b8", "0x0", "0x0", "0x0")
	thread.Path, thread.WaitSeconds = deadPoint, &seconds
	known.Threads = []procs.Thread{thread}
	known.Processes = []procs.Process{{PID: 11, Comm: "sleep", State: "D"}}
	known.Dumps = dumpsOf(t, kubeletPID, inSyscall(117, "syscall, 12 minutes", "0x106, 0xffffffffffffff9c, 0x63d87030c40, 0x63d865286b8, 0x0, 0x0, 0x0"))
	for _, tt := range []struct {
		entity  forensics.Entity
		known   string
		unknown string
	}{
		{forensics.Entity{Kind: forensics.KindSuperblock, ID: "0:46"}, "CephFS 10.0.0.5:6789:/k8s (superblock 0:46): no response for 12 min", "superblock 0:46"},
		{forensics.Entity{Kind: forensics.KindMount, ID: "59"}, deadPoint + " (mount 59)", "mount 59"},
		{forensics.Entity{Kind: forensics.KindThread, ID: "9825/9839"}, "thread 9825/9839 (kubelet): newfstatat on " + deadPoint + ", in request_wait_answer for at least 12 min", "thread 9825/9839"},
		{forensics.Entity{Kind: forensics.KindGoroutine, ID: "117"}, "goroutine 117 (main.main) = thread 9825/9839 (same pointer 0x63d87030c40)", "goroutine 117"},
		{forensics.Entity{Kind: forensics.KindProcess, ID: "11"}, "sleep (pid 11): blocked in uninterruptible sleep (state D)", "process 11"},
		{forensics.Entity{Kind: forensics.KindSubsystem, ID: "housekeeping"}, "kubelet 1.17.4 housekeeping", "kubelet housekeeping"},
		{forensics.Entity{Kind: forensics.KindKubelet, ID: "9825"}, "kubelet 1.17.4 (pid 9825)", "kubelet (pid 9825)"},
		{forensics.Entity{Kind: forensics.KindKubelet, ID: "kubelet"}, "kubelet 1.17.4", "kubelet"},
		{forensics.Entity{Kind: forensics.KindPod, ID: DeadUID}, "pod " + DeadUID + ": state unknown", "pod " + DeadUID + ": state unknown"},
		{forensics.Entity{Kind: forensics.KindThread, ID: "torn"}, "thread torn", "thread torn"},
		{forensics.Entity{Kind: forensics.KindMount, ID: "torn"}, "mount torn", "mount torn"},
		{forensics.Entity{Kind: forensics.KindDisk, ID: "259:1"}, "disk 259:1", "disk 259:1"},
	} {
		if got := forensics.Describe(forensics.NewModel(&known), tt.entity); got != tt.known {
			t.Errorf("Describe(%v) = %q, want %q", tt.entity, got, tt.known)
		}
		if got := forensics.Describe(forensics.NewModel(&forensics.Evidence{}), tt.entity); got != tt.unknown {
			t.Errorf("Describe(%v) without evidence = %q, want %q", tt.entity, got, tt.unknown)
		}
	}
}

func TestDescribeStatus(t *testing.T) {
	for status, want := range map[mounts.Status]string{
		mounts.StatusHung: "has not responded for 15 s", mounts.StatusSlow: "responded after 15 s", mounts.StatusUnanswered: "had not responded after 15 s",
		mounts.StatusFrozen: "frozen", mounts.StatusRecovered: "then did", mounts.StatusStale: `"stale file handle"`,
		mounts.StatusDisconnected: `"stale file handle"`, mounts.StatusIOError: `"stale file handle"`, mounts.StatusDenied: "denies access to nodeforensics",
		mounts.StatusOK: "responds", mounts.StatusNotProbed: "not probed",
	} {
		got := forensics.DescribeStatus(mounts.Health{Status: status, Seconds: 15, Error: "stale file handle"})
		if !strings.Contains(got, want) {
			t.Errorf("DescribeStatus(%q) = %q, want something with %q", status, got, want)
		}
	}
}

func TestDescribeWait(t *testing.T) {
	seconds := 3.0
	for _, tt := range []struct {
		name   string
		thread procs.Thread
		want   string
	}{
		{
			"all known",
			procs.Thread{Syscall: &procs.Syscall{Name: "newfstatat"}, Path: "/x", Wait: procs.Wait{Function: "request_wait_answer"}, WaitSeconds: &seconds},
			`is in newfstatat("/x"), waiting in request_wait_answer for at least 3 s`,
		},
		{"no path", procs.Thread{Syscall: &procs.Syscall{Name: "fsync"}, WChan: "jbd2_log_wait_commit"}, "is in fsync, waiting in jbd2_log_wait_commit"},
		{"no system call", procs.Thread{Path: "/x"}, `is in the kernel on "/x"`},
		{"a system call without a name", procs.Thread{Syscall: &procs.Syscall{Number: 999}}, "is in the kernel"},
		{"control characters", procs.Thread{Syscall: &procs.Syscall{Name: "openat"}, Path: "/x\x1b[2J"}, `is in openat("/x\x1b[2J")`},
	} {
		if got := forensics.DescribeWait(tt.thread, forensics.NewModel(&forensics.Evidence{}).Waited(tt.thread)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
