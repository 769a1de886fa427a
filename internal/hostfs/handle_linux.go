package hostfs

import (
	"io/fs"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A handle is a descriptor that closes when it was closed and the last call on it has returned. Without that, a call
// that was given up because it hangs would go on with a number that by then belongs to another file.
type handle struct {
	fd int
	// users is one for the handle being open and one for each call under way.
	users  atomic.Int64
	closed atomic.Bool
}

func newHandle(fd int) *handle {
	h := &handle{fd: fd}
	h.users.Store(1)
	return h
}

// use returns the descriptor; each success needs a done. A nil handle is a closed one.
func (h *handle) use() (int, error) {
	if h == nil {
		return -1, fs.ErrClosed
	}
	for {
		n := h.users.Load()
		if n == 0 || h.closed.Load() {
			return -1, fs.ErrClosed
		}
		if h.users.CompareAndSwap(n, n+1) {
			return h.fd, nil
		}
	}
}

// done closes the descriptor after its last use. What close says is of no interest to readers, and the number is free
// whatever it says, see close(2).
func (h *handle) done() {
	if h.users.Add(-1) == 0 {
		_ = unix.Close(h.fd)
	}
}

func (h *handle) close() error {
	if h == nil || h.closed.Swap(true) {
		return fs.ErrClosed
	}
	h.done()
	return nil
}
