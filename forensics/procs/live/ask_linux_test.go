package live

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// newVisit is a visit of a process that need not exist: what is asked about it comes from the test.
func newVisit(ctx context.Context, t *testing.T) *visit {
	t.Helper()
	fsys, err := hostfs.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fsys.Close() })
	c, err := newCollector(ctx, fsys, Options{Group: &probe.Group{}, Limits: Limits{Read: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.proc.Close() })
	return &visit{c: c, pid: 7, key: "pid 7"}
}

func TestAskLosesWhatBlocks(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	v := newVisit(t.Context(), t)
	fd := int(r.Fd()) // no longer of the poller: a read blocks its thread
	_, err = ask(v, func() (int, error) { return unix.Read(fd, make([]byte, 1)) })
	if !errors.Is(err, errNoAnswer) || !errors.Is(v.lost, errNoAnswer) || v.c.lost != 1 {
		t.Errorf("ask = %v, lost %v, count %d; want no answer", err, v.lost, v.c.lost)
	}
	_, err = ask(v, func() (int, error) { t.Error("asked again"); return 0, nil })
	if !errors.Is(err, errNoAnswer) {
		t.Errorf("second ask = %v", err)
	}
	second := visit{c: v.c, pid: 7, key: "pid 7"}
	if _, err = ask(&second, func() (int, error) { return 1, nil }); !errors.Is(err, probe.ErrBusy) {
		t.Errorf("ask in another pass = %v; want ErrBusy", err)
	}
	_ = w.Close()
}

// TestInLaneLosesWhatBlocks has a reader go on on another goroutine, once, with what was lost on record.
func TestInLaneLosesWhatBlocks(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	v := newVisit(t.Context(), t)
	fd := int(r.Fd())
	inLane, took := make(chan bool, 1), make(chan error, 1)
	go func() {
		lane := probe.NewLane(v.c.opt.Group)
		inLane <- v.inLane(lane, func() { _, _ = unix.Read(fd, make([]byte, 1)) }, func() {
			took <- v.lost
			lane.Close()
		})
	}()
	if err := <-took; !errors.Is(err, errNoAnswer) || v.c.lost != 1 {
		t.Errorf("lost %v, count %d; want no answer, once", err, v.c.lost)
	}
	if left := v.c.opt.Group.Outstanding(); len(left) != 1 || left[0].Key != v.key {
		t.Errorf("outstanding: %+v; want the call", left)
	}
	_ = w.Close()
	if <-inLane {
		t.Error("the goroutine that was given up goes on, too")
	}
}

// TestInLaneStopsWithTheRun gives up a call when the run ends, and holds that against nobody.
func TestInLaneStopsWithTheRun(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	v := newVisit(ctx, t)
	fd := int(r.Fd())
	took := make(chan error, 1)
	go func() {
		lane := probe.NewLane(v.c.opt.Group)
		v.inLane(lane, func() { cancel(); _, _ = unix.Read(fd, make([]byte, 1)) }, func() { took <- v.lost })
	}()
	if err := <-took; !errors.Is(err, context.Canceled) || v.c.lost != 0 {
		t.Errorf("lost %v, count %d; want canceled, and nothing against the process", err, v.c.lost)
	}
}

// TestAskWaitsForWhatRuns has a call that needs more time than the limit, but needs it for itself.
func TestAskWaitsForWhatRuns(t *testing.T) {
	v := newVisit(t.Context(), t)
	v.c.limits.Read = 100 * time.Millisecond
	got, err := ask(v, func() (int, error) {
		n := 0
		for start := time.Now(); time.Since(start) < 3*v.c.limits.Read/2; {
			n++
		}
		return n, nil
	})
	if err != nil || got == 0 || v.lost != nil {
		t.Errorf("ask = %d, %v, lost %v; want the answer", got, err, v.lost)
	}
}

func TestAskStopsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v := newVisit(ctx, t)
	if _, err := ask(v, func() (int, error) { return 1, nil }); !errors.Is(err, context.Canceled) || v.lost != nil {
		t.Errorf("ask = %v, lost %v; want canceled, and nothing against the process", err, v.lost)
	}
}

func TestAStoppedThreadDoesNotWaitForTheOneItAsks(t *testing.T) {
	for state, want := range map[string]bool{"R": true, "T": true, "t": true, "S": false, "D": false, "Z": false, "": false} {
		if got := lacksCPU(state); got != want {
			t.Errorf("lacksCPU(%q) = %t", state, got)
		}
	}
}
