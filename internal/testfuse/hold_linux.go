package testfuse

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Kind is the way in which a process holds a path, and so the file system under it.
type Kind string

// The ways that Hold knows.
const (
	Cwd  Kind = "cwd"  // the working directory
	Root Kind = "root" // the root directory
	FD   Kind = "fd"   // a descriptor of the directory or file; a missing file is made, and then open for writing
	Mmap Kind = "mmap" // a mapping of the file without a descriptor; a missing file is made
	// Socket is a socket that is bound to the name, which has to be missing and shorter than 108 bytes.
	Socket Kind = "socket"
	Exe    Kind = "exe" // the executable; the file has to be missing and becomes a copy of the test binary
)

// Process is a process that holds a path or is stuck at one.
type Process struct {
	child *child
	tid   int
}

// holdRequest says what to do with a path. The first holdReply to it says that the process is there, or has failed.
type holdRequest struct {
	Kind Kind
	Path string
}

type holdReply struct {
	TID   int
	Error string
}

// HoldStat starts a process that calls stat(2), which is newfstatat, on path, and returns when it is about to. On a hung
// mount it blocks for ever: await [Process.Blocked] for that. The cleanup kills it; while it cannot die, it goes with
// the cleanup of the mount.
func HoldStat(t testing.TB, path string) *Process {
	t.Helper()
	return startProcess(t, roleStat, holdRequest{Path: path})
}

// Hold starts a process that holds path until the test ends, and returns when it does. The file system has to be
// answering for that; it may stop to do so afterwards.
func Hold(t testing.TB, kind Kind, path string) *Process {
	t.Helper()
	return startProcess(t, roleHold, holdRequest{Kind: kind, Path: path})
}

func startProcess(t testing.TB, role string, req holdRequest) *Process {
	t.Helper()
	p := &Process{child: startChild(t, role, syscall.SIGKILL)}
	t.Cleanup(func() { p.child.end(200 * time.Millisecond) })
	if err := p.child.send(req); err != nil {
		t.Fatalf("testfuse: %v", err)
	}
	var there holdReply
	if err := p.child.receive(&there); err != nil {
		t.Fatalf("testfuse: %v", err)
	}
	if there.Error != "" {
		t.Fatalf("testfuse: hold %s: %s", req.Path, there.Error)
	}
	p.tid = there.TID
	return p
}

// PID returns the process.
func (p *Process) PID() int { return p.child.cmd.Process.Pid }

// TID returns the thread of the process that does what was asked of it; it need not be the first.
func (p *Process) TID() int { return p.tid }

// Wchan returns the kernel function in which the thread TID sleeps, "0" while it runs, "" when it is gone.
func (p *Process) Wchan() string {
	wchan, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/wchan", p.PID(), p.tid))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(wchan))
}

// Blocked reports whether the thread TID waits for an answer of a FUSE server.
func (p *Process) Blocked() bool {
	return strings.Contains(p.Wchan(), "request_wait_answer") // fuse_request_wait_answer in some versions
}

// Done is closed when the process has ended and been reaped.
func (p *Process) Done() <-chan struct{} { return p.child.done }

// Errno returns, once Done is closed, what stat(2) said: 0, or for example ENOTCONN. It is ECANCELED for a process that
// was killed, and before.
func (p *Process) Errno() syscall.Errno {
	select {
	case <-p.child.done:
	default:
		return syscall.ECANCELED
	}
	if code := p.child.cmd.ProcessState.ExitCode(); code >= 0 {
		return syscall.Errno(code)
	}
	return syscall.ECANCELED
}

// Kill sends SIGKILL and does not wait. A thread whose request the server has read ([Server.Unanswered]) passes thereby from
// state S into D, and the process stays until it gets its answer. With a request that was not read yet it dies.
func (p *Process) Kill() { _ = p.child.cmd.Process.Kill() }
