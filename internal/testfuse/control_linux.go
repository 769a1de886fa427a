package testfuse

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"golang.org/x/sys/unix"
)

// mountRequest is the first message to a server, mountReply its answer.
type mountRequest struct {
	Dir     string
	Options Options
	Starter int // the thread of the test process that ends with it
}

type mountReply struct {
	Errno syscall.Errno // 0 if the file system is mounted
	Minor int
	Error string // what else went wrong
}

// Every further message is an order, answered by a report once it has been carried out.
type order struct {
	Trouble *trouble // nil leaves it as it is
}

type report struct {
	Requests []Request // that have been read and not answered
}

// Hang makes the server answer nothing from now on. What it is asked is held back for Heal.
func (s *Server) Hang() { s.t.Helper(); s.trouble(trouble{Hang: true}) }

// HangOnOpen makes the server answer nothing when a file is opened, and all else, as one that fetches files then.
func (s *Server) HangOnOpen() { s.t.Helper(); s.trouble(trouble{Hang: true, Only: onlyOpen}) }

// HangData makes the server answer no request that reads or writes the data of files, such as one that has to fetch or store
// much first. What else it is asked it answers.
func (s *Server) HangData() { s.t.Helper(); s.trouble(trouble{Hang: true, Only: onlyData}) }

// Delay makes the server answer each request d after it came.
func (s *Server) Delay(d time.Duration) { s.t.Helper(); s.trouble(trouble{Delay: d}) }

// Fail makes the server answer every request with errno, for example EIO or ESTALE.
func (s *Server) Fail(errno syscall.Errno) { s.t.Helper(); s.trouble(trouble{Errno: errno}) }

// Heal makes the server answer again, beginning with what was held back.
func (s *Server) Heal() { s.t.Helper(); s.trouble(trouble{}) }

// Unanswered returns how many requests the server has read and not answered. Only such a request makes its thread
// unkillable: the kernel withdraws one that was not read yet if the thread gets SIGKILL.
func (s *Server) Unanswered() int { s.t.Helper(); return len(s.Requests()) }

// Requests returns those that the server has read and not answered.
func (s *Server) Requests() []Request { s.t.Helper(); return s.order(order{}).Requests }

// Own leaves out the requests of other programs: those of this process are left, and those of the kernel, which may ask on its behalf.
// Others have to do with a mount whatever the test does: mount(8) and losetup(8) want the status of each loop device, wherever its
// image is, and the kernel asks the file system of the image for that (loop_get_status in drivers/block/loop.c).
func (s *Server) Own() []Request {
	s.t.Helper()
	return sorting.Delete(s.Requests(), func(r Request) bool { return r.Process != os.Getpid() && !r.Kernel })
}

// UnansweredHere leaves out the requests of processes outside of the PID namespace that the server is in: of other tests,
// which may look at all that is mounted on this machine.
func (s *Server) UnansweredHere() int {
	s.t.Helper()
	elsewhere := func(r Request) bool { return r.Thread == 0 }
	return len(sorting.Delete(s.Requests(), elsewhere))
}

func (s *Server) trouble(tr trouble) { s.t.Helper(); s.order(order{Trouble: &tr}) }

func (s *Server) order(o order) report {
	s.t.Helper()
	var r report
	if err := s.ask(o, &r); err != nil {
		s.t.Fatalf("testfuse: %v", err)
	}
	return r
}

func (s *Server) ask(question, answer any) error {
	s.child.mu.Lock()
	defer s.child.mu.Unlock()
	if err := s.child.send(question); err != nil {
		return err
	}
	return s.child.receive(answer)
}

// Stop stops the server process with SIGSTOP and returns when it has stopped. Until Cont it can be told nothing else
// than to be killed.
func (s *Server) Stop() { s.t.Helper(); s.signalAndWait(unix.SIGSTOP, unix.WSTOPPED) }

// Cont continues a stopped server with SIGCONT and returns when it runs.
func (s *Server) Cont() { s.t.Helper(); s.signalAndWait(unix.SIGCONT, unix.WCONTINUED) }

func (s *Server) signalAndWait(signal syscall.Signal, event int) {
	s.t.Helper()
	if err := s.child.cmd.Process.Signal(signal); err != nil {
		s.t.Fatalf("testfuse: %v to server %d: %v", signal, s.PID(), err)
	}
	for {
		err := unix.Waitid(unix.P_PID, s.PID(), nil, event, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			s.t.Fatalf("testfuse: waiting for server %d after %v: %v", s.PID(), signal, err)
		}
		return
	}
}

// Kill kills the server with SIGKILL and returns when it has been reaped. The kernel has then aborted the connection:
// whoever waited has got ECONNABORTED, and further calls get ENOTCONN. The mount stays.
func (s *Server) Kill() {
	s.t.Helper()
	if !s.child.end(answerLimit) {
		s.t.Fatalf("testfuse: server %d outlived SIGKILL", s.PID())
	}
}

// Abort aborts the connection through the FUSE control file system. The mount and the server process stay, and have
// nothing to say to each other any more.
func (s *Server) Abort() {
	s.t.Helper()
	if err := os.WriteFile(s.connection("abort"), []byte("1"), 0); err != nil {
		s.t.Fatalf("testfuse: %v", err)
	}
}

// Waiting returns the number of requests that wait to be answered or to be read by the server.
func (s *Server) Waiting() int {
	s.t.Helper()
	text, err := os.ReadFile(s.connection("waiting"))
	if err != nil {
		s.t.Fatalf("testfuse: %v", err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		s.t.Fatalf("testfuse: connection %d: %v", s.minor, err)
	}
	return n
}

// connections is where the control file system belongs.
const connections = "/sys/fs/fuse/connections"

// connection returns a control file of the mount. If nobody has mounted the control file system, as systemd does, it
// is mounted now and stays: other test binaries may be reading it too.
func (s *Server) connection(name string) string {
	s.t.Helper()
	dir := filepath.Join(connections, strconv.Itoa(s.minor))
	if _, err := os.Lstat(dir); err == nil {
		return filepath.Join(dir, name)
	}
	// EBUSY: another process has been quicker.
	if err := unix.Mount("fusectl", connections, "fusectl", 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		s.t.Skipf("testfuse: no FUSE control file system: %v", err)
	}
	return filepath.Join(dir, name)
}
