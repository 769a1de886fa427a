package live

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
