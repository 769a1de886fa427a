package live

import (
	"context"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// onThread runs f on a thread of its own, which ends with f. Whatever f does to that thread harms nobody. f must not end
// the test.
func onThread(f func()) {
	_ = testvm.OnThread(func() error {
		f()
		return nil
	})
}

// newNamespace gives the calling thread a mount namespace of its own from which nothing propagates.
func newNamespace() error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return err
	}
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// A guest is a thread that stays in a namespace until the test ends.
type guest struct {
	tid int
	do  chan func()
}

// newGuest starts a thread, has it run enter, and skips the test if that fails.
func newGuest(t testing.TB, enter func() error) *guest {
	t.Helper()
	g := &guest{do: make(chan func())}
	entered := make(chan error)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		onThread(func() {
			g.tid = unix.Gettid()
			err := enter()
			entered <- err
			for f := range g.do {
				f()
			}
		})
	}()
	err := <-entered
	t.Cleanup(func() { close(g.do); <-gone })
	if err != nil {
		t.Skipf("needs root: %v", err)
	}
	return g
}

// run runs f on the thread.
func (g *guest) run(f func()) {
	done := make(chan struct{})
	g.do <- func() { defer close(done); f() }
	<-done
}

// cancelled returns a context that has ended.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
