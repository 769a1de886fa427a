package testfuse

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// trouble is how a server treats what it is asked. The zero value is a healthy server.
type trouble struct {
	Hang  bool
	Only  string // the requests that it hangs on; "" are all
	Delay time.Duration
	Errno syscall.Errno
}

// What Only can be.
const (
	onlyData = "data"
	onlyOpen = "open"
)

// hangs says whether a request is put aside for good.
func (t trouble) hangs(req *request) bool {
	switch t.Only {
	case onlyOpen:
		return req.Opcode == opOpen
	case onlyData:
		return slices.Contains([]uint32{opRead, opWrite, opFsync, opFlush}, req.Opcode)
	}
	return t.Hang
}

// kernel is the server's end of a FUSE connection.
type kernel struct {
	fd   int
	tree *tree
	buf  []byte

	initialised chan struct{} // closed when the first request, INIT, is answered, or the connection gone

	mu         sync.Mutex
	trouble    trouble
	unanswered map[uint64]*request // read and not answered, by unique
}

func newKernel(fd int, tree *tree) *kernel {
	return &kernel{
		fd: fd, tree: tree,
		buf:         make([]byte, maxWrite+8192), // the kernel refuses a read without room for a header beside max_write
		initialised: make(chan struct{}),
		unanswered:  make(map[uint64]*request),
	}
}

// A request is one message of the kernel: its header, and what comes after it.
type request struct {
	inHeader
	body []byte
	by   Request
}

// serve reads requests until the connection is gone. The first of them is INIT. Until that is answered, callers do not
// even get to wait for an answer, but sit in fuse_get_req.
func (k *kernel) serve() {
	if first := k.next(); first != nil {
		k.answer(first, 0)
	}
	close(k.initialised)
	for req := k.next(); req != nil; req = k.next() {
		k.take(req)
	}
}

// next reads a request. It returns nil when the file system has been unmounted or aborted.
func (k *kernel) next() *request {
	for {
		n, err := unix.Read(k.fd, k.buf)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOENT):
			continue // ENOENT: the request was interrupted before it could be read
		case err != nil:
			return nil // ENODEV
		}
		req := new(request)
		req.body = slices.Clone(unpack(k.buf[:n], &req.inHeader))
		return req
	}
}

// take answers a request at once or puts it aside, as the current trouble demands.
func (k *kernel) take(req *request) {
	switch req.Opcode {
	case opForget, opBatchForget, opInterrupt:
		return // never answered; nodes are kept, and a dead server does not notice an interrupt
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.treat(req)
}

// treat is take under the lock, and for requests that were taken before.
func (k *kernel) treat(req *request) {
	tr := k.trouble
	switch {
	case tr.hangs(req):
		k.putAside(req)
	case tr.Delay > 0:
		k.putAside(req)
		time.AfterFunc(tr.Delay, func() { k.release(req) })
	default:
		k.answer(req, tr.Errno)
	}
}

func (k *kernel) putAside(req *request) {
	if req.by.Opcode == 0 {
		req.by = requestBy(req.inHeader)
	}
	k.unanswered[req.Unique] = req
}

// release answers a delayed request, unless it has been answered or put aside again in the meantime.
func (k *kernel) release(req *request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.unanswered[req.Unique] == req {
		delete(k.unanswered, req.Unique)
		k.answer(req, 0)
	}
}

// setTrouble puts a trouble in force, also for the requests that the last one had put aside.
func (k *kernel) setTrouble(tr trouble) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trouble = tr
	unanswered := k.unanswered
	k.unanswered = make(map[uint64]*request)
	for _, req := range unanswered {
		again := *req // another pointer, so that a timer of the old trouble does not release it
		k.treat(&again)
	}
}

// list returns the requests that are put aside.
func (k *kernel) list() []Request {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []Request
	for _, req := range k.unanswered {
		all = append(all, req.by)
	}
	return all
}

// answer carries a request out and writes the reply, or writes errno if that is set.
func (k *kernel) answer(req *request, errno syscall.Errno) {
	var body []byte
	if errno == 0 {
		body, errno = k.tree.handle(req)
		if errno == unix.EAGAIN && req.Opcode == opSetlkw {
			k.putAside(req) // until somebody lets go
			return
		}
		defer k.retryLocks(req.Opcode)
	}
	if errno != 0 {
		body = nil
	}
	reply := pack(outHeader{Len: uint32(outHeaderSize + len(body)), Error: -int32(errno), Unique: req.Unique})
	// The write fails if nobody waits any more. That is no concern of the server.
	_, _ = unix.Write(k.fd, append(reply, body...))
}

// retryLocks carries out the requests that wait for a lock, after one that may have let go of it.
func (k *kernel) retryLocks(after uint32) {
	if after != opSetlk && after != opRelease {
		return
	}
	for _, req := range slices.Collect(maps.Values(k.unanswered)) {
		if req.Opcode == opSetlkw && k.trouble == (trouble{}) {
			delete(k.unanswered, req.Unique)
			k.answer(req, 0)
		}
	}
}
