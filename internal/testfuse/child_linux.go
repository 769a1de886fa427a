package testfuse

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// answerLimit bounds how long a child may take to answer a message.
const answerLimit = 30 * time.Second

// A child is a copy of the test binary in one of its roles. Messages go to its standard input and come from its
// standard output; the end of that input tells it that the test process is gone.
type child struct {
	cmd     *exec.Cmd
	in      *os.File
	out     *os.File
	starter int           // the thread that started the child; it lives as long as the child or the test process
	done    chan struct{} // closed when the process has been reaped

	mu     sync.Mutex // one question at a time
	enc    *gob.Encoder
	dec    *gob.Decoder
	stderr *bytes.Buffer // to be read after done
}

// startChild starts a copy of the test binary in its own process group, so that a terminal's ^C leaves cleaning up to
// the end of the test process, and with the signal death, which it gets when that end comes.
func startChild(t testing.TB, role string, death syscall.Signal) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatalf("testfuse: %v", err)
	}
	// A binary whose TestMain forgot to call Main runs no test and ends, rather than start copies of itself for ever.
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), roleEnv+"="+role, "GORACE=atexit_sleep_ms=0") // the race detector's second is not ours
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death}
	c := &child{cmd: cmd, done: make(chan struct{}), stderr: new(bytes.Buffer)}
	cmd.Stderr = c.stderr
	theirs, err := c.pipes()
	if err != nil {
		t.Fatalf("testfuse: %v", err)
	}
	started := make(chan error)
	go c.run(started)
	err = <-started
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		t.Fatalf("testfuse: %v", err)
	}
	return c
}

// pipes makes the two pipes and returns the ends that belong to the child.
func (c *child) pipes() ([]*os.File, error) {
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), in.Close())
	}
	c.cmd.Stdin, c.in, c.enc = stdin, in, gob.NewEncoder(in)
	c.cmd.Stdout, c.out, c.dec = stdout, out, gob.NewDecoder(out)
	return []*os.File{stdin, stdout}, nil
}

// run starts the process and reaps it. The death signal comes at the end of the thread that started the child, not of
// its process, so this goroutine keeps its thread until there is no child left to be signalled.
func (c *child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.starter = unix.Gettid()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = c.cmd.Wait() // how it ended is in ProcessState
	close(c.done)
}

// send gives up on a child that does not listen.
func (c *child) send(message any) error {
	if err := c.in.SetWriteDeadline(time.Now().Add(answerLimit)); err != nil {
		return err
	}
	if err := c.enc.Encode(message); err != nil {
		return fmt.Errorf("process %d does not listen: %w%s", c.cmd.Process.Pid, err, c.lastWords())
	}
	return nil
}

// receive gives up on a child that does not answer.
func (c *child) receive(message any) error {
	if err := c.out.SetReadDeadline(time.Now().Add(answerLimit)); err != nil {
		return err
	}
	if err := c.dec.Decode(message); err != nil {
		return fmt.Errorf("no answer from process %d: %w%s", c.cmd.Process.Pid, err, c.lastWords())
	}
	return nil
}

// lastWords is what a child that has ended said, if it did so within a moment.
func (c *child) lastWords() string {
	if !c.ended(time.Second) {
		return ""
	}
	words := c.stderr.String()
	if words == "" && c.cmd.ProcessState.Success() {
		words = ": does TestMain begin with testfuse.Main()?"
	}
	return fmt.Sprintf(" (%s%s)", c.cmd.ProcessState, words)
}

// end kills the child and reports whether it was gone within the limit. One that sits in an uninterruptible wait is
// not; it goes when the mount is aborted, and is reaped then.
func (c *child) end(limit time.Duration) bool {
	_ = c.cmd.Process.Kill() // fails only if it is gone
	gone := c.ended(limit)
	_ = c.in.Close()
	_ = c.out.Close()
	return gone
}

// ended reports whether the child has been reaped, if need be after a wait.
func (c *child) ended(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}
