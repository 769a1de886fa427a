package procs

import (
	"fmt"
	"os/exec"
	"testing"
)

// BenchmarkCollect reads a machine with that many processes more than it has anyway, most of which do nothing.
func BenchmarkCollect(b *testing.B) {
	for _, n := range []int{0, 2000} {
		b.Run(fmt.Sprintf("%d processes", n), func(b *testing.B) {
			fsys, opt := machine(b)
			for range n {
				cmd := exec.Command("sleep", "1000")
				if err := cmd.Start(); err != nil {
					b.Skipf("needs sleep: %v", err)
				}
				b.Cleanup(func() {
					_ = cmd.Process.Kill()
					_ = cmd.Wait()
				})
			}
			collectOften(b, func() (Snapshot, error) { return Collect(b.Context(), fsys, opt) })
		})
	}
}

// BenchmarkCollectThreads reads a machine on which one process has thousands of threads.
func BenchmarkCollectThreads(b *testing.B) {
	fsys, opt := machine(b)
	c := start(b, job{CPU: -1, Call: "threads", Threads: 4000})
	c.call(b)
	c.said(b, "ready")
	collectOften(b, func() (Snapshot, error) { return Collect(b.Context(), fsys, opt) })
}

func collectOften(b *testing.B, collect func() (Snapshot, error)) {
	b.Helper()
	b.ReportAllocs()
	processes := 0
	for b.Loop() {
		snap, err := collect()
		if err != nil {
			b.Fatal(err)
		}
		processes = len(snap.Processes)
	}
	b.ReportMetric(float64(processes), "processes")
}

func BenchmarkClassifyWait(b *testing.B) {
	stack := []string{
		"request_wait_answer", "__fuse_simple_request", "fuse_do_getattr", "vfs_getattr_nosec", "vfs_statx",
		"vfs_fstatat", "__do_sys_newfstatat", "do_syscall_64", "entry_SYSCALL_64_after_hwframe",
	}
	b.ReportAllocs()
	for b.Loop() {
		if ClassifyWait("request_wait_answer", stack).Kind != WaitFUSE {
			b.Fatal("not recognised")
		}
	}
}
