package probe_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/probe"
)

func TestDo(t *testing.T) {
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		call func() (int, error)
		want int
		err  error
	}{
		"answer": {call: func() (int, error) { return 7, nil }, want: 7},
		"error":  {call: func() (int, error) { return 0, boom }, err: boom},
	} {
		t.Run(name, func(t *testing.T) {
			var g probe.Group
			got, err := probe.Do(t.Context(), &g, "key", tc.call)
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("Do = %d, %v; want %d, %v", got, err, tc.want, tc.err)
			}
			if left := g.Outstanding(); len(left) != 0 || g.GivenUp() != 0 {
				t.Errorf("outstanding %v, given up %d; want none", left, g.GivenUp())
			}
		})
	}
}

func TestDoPanic(t *testing.T) {
	_, err := probe.Do(t.Context(), nil, "key", func() (int, error) { panic("hostile") })
	if err == nil || err.Error() != "key: panic: hostile" {
		t.Errorf("error = %v; want the panic", err)
	}
}

// TestDoBlocked opens a FIFO, which blocks in the kernel until somebody opens the other end.
func TestDoBlocked(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: mkfifo and thread ids")
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := mkfifo(fifo); err != nil {
		t.Fatal(err)
	}
	var g probe.Group
	ctx, cancel := context.WithCancel(t.Context())
	started, finished := make(chan struct{}), make(chan struct{})
	go func() { <-started; cancel() }()
	block := func() (int, error) {
		close(started)
		defer close(finished)
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err == nil {
			err = f.Close()
		}
		return 0, err
	}
	if _, err := probe.Do(ctx, &g, "0:46", block); !errors.Is(err, context.Canceled) {
		t.Fatalf("error = %v; want context.Canceled", err)
	}
	calls := g.Outstanding()
	if len(calls) != 1 || calls[0].Key != "0:46" || calls[0].TID == 0 || calls[0].Since.IsZero() {
		t.Fatalf("outstanding = %+v; want the one call with its thread", calls)
	}
	if _, err := probe.Do(t.Context(), &g, "0:46", func() (int, error) { return 1, nil }); !errors.Is(err, probe.ErrBusy) {
		t.Errorf("second call = %v; want ErrBusy", err)
	}
	if got, err := probe.Do(t.Context(), &g, "0:47", func() (int, error) { return 1, nil }); got != 1 || err != nil {
		t.Errorf("another key = %d, %v; want 1", got, err)
	}
	r, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	<-finished
	for len(g.Outstanding()) != 0 {
		runtime.Gosched()
	}
	if g.GivenUp() != 1 {
		t.Errorf("given up = %d; want 1", g.GivenUp())
	}
}

func TestDoAfterDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var g probe.Group // a call that is started comes back, or is given up
	_, err := probe.Do(ctx, &g, "key", func() (int, error) { return 0, nil })
	if !errors.Is(err, context.Canceled) || g.GivenUp() != 0 || len(g.Outstanding()) != 0 {
		t.Errorf("error = %v, %d given up, %v outstanding; want canceled and not called", err, g.GivenUp(), g.Outstanding())
	}
}
