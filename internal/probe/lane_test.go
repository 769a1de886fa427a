package probe_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/probe"
)

func never(int) bool { return false }

func TestLane(t *testing.T) {
	var g probe.Group
	lane := probe.NewLane(&g)
	defer lane.Close()
	calls := 0
	for range 3 {
		back, err := lane.Call("pid 1", time.Minute, never, func() { calls++ }, func() { t.Error("lost") })
		if !back || err != nil {
			t.Fatalf("Call = %v, %v; want it back", back, err)
		}
	}
	if calls != 3 || len(g.Outstanding()) != 0 || g.GivenUp() != 0 {
		t.Errorf("%d calls, outstanding %v, given up %d; want 3 and none", calls, g.Outstanding(), g.GivenUp())
	}
}

// TestLaneLost lets a call block in the kernel: another goroutine goes on with the lane, and the one that comes back at
// last owns nothing.
func TestLaneLost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: mkfifo and thread ids")
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := mkfifo(fifo); err != nil {
		t.Fatal(err)
	}
	var g probe.Group
	var lane *probe.Lane
	calls := 0
	returned, taken := make(chan bool), make(chan int, 1)
	go func() {
		lane = probe.NewLane(&g)
		wait := func(int) bool { calls++; return calls < 3 }
		block := func() {
			if f, err := os.OpenFile(fifo, os.O_WRONLY, 0); err == nil {
				_ = f.Close()
			}
		}
		back, _ := lane.Call("pid 7", time.Millisecond, wait, block, func() {
			sum := 0
			for i := range 3 {
				if back, err := lane.Call("pid 8", time.Minute, never, func() { sum += i }, nil); !back || err != nil {
					sum = -1
				}
			}
			if back, err := lane.Call("pid 7", time.Minute, never, func() { sum = -2 }, nil); !back || !errors.Is(err, probe.ErrBusy) {
				sum = -3
			}
			lane.Close()
			taken <- sum
		})
		returned <- back
	}()
	if sum := <-taken; sum != 3 {
		t.Errorf("the goroutine that took over made %d of three calls and one that is busy", sum)
	}
	left := g.Outstanding()
	if len(left) != 1 || left[0].Key != "pid 7" || left[0].TID == 0 || g.GivenUp() != 1 || calls != 3 {
		t.Errorf("outstanding %+v, given up %d, asked %d times; want the call with its thread, 1 and 3", left, g.GivenUp(), calls)
	}
	f, err := os.OpenFile(fifo, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if back := <-returned; back {
		t.Error("a call that was given up says that it is back")
	}
	if left := g.Outstanding(); len(left) != 0 {
		t.Errorf("outstanding after it came back: %+v", left)
	}
}
