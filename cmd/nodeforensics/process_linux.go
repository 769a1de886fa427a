package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
)

// child is a process of this program in another role.
type child struct {
	process *os.Process
	in, out *os.File              // our ends of its standard input and output
	stderr  *os.File              // what it complains of
	ended   chan *os.ProcessState // how it ended, if it does before we do
}

// startChild starts this program again, in a session of its own and with no descriptor of ours but three pipes: a process
// that is stuck must not hold anything of the terminal. Nothing is looked up on the way.
func startChild(role string) (*child, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		closeAll(childIn, in)
		return nil, fmt.Errorf("pipe: %w", err)
	}
	stderr, childErr, err := os.Pipe()
	if err != nil {
		closeAll(childIn, in, out, childOut)
		return nil, fmt.Errorf("pipe: %w", err)
	}
	process, err := os.StartProcess("/proc/self/exe", []string{"nodeforensics", role}, &os.ProcAttr{
		Files: []*os.File{childIn, childOut, childErr}, Env: childEnvironment(), Sys: &syscall.SysProcAttr{Setsid: true},
	})
	closeAll(childIn, childOut, childErr)
	if err != nil {
		closeAll(in, out, stderr)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w (is /proc mounted?)", err)
		}
		return nil, fmt.Errorf("start a process: %w", err)
	}
	c := &child{process: process, in: in, out: out, stderr: stderr, ended: make(chan *os.ProcessState, 1)}
	go func() {
		if state, err := process.Wait(); err == nil {
			c.ended <- state
		}
	}()
	return c, nil
}

// fate says how a child ended whose output has: the pipe is closed a moment before the process is gone. It is nil for one
// that ended well, and err for one that cannot end.
func (c *child) fate(err error) error {
	select {
	case state := <-c.ended:
		c.ended <- state
		if why := c.complaint(); why != "" {
			return errors.New(why)
		}
		if !state.Success() || err != nil {
			return errors.New(state.String())
		}
		return nil
	case <-time.After(time.Second):
		return err
	}
}

// complaint is why a child that has ended did so, as far as it said so: in a line of its own, or as the Go runtime does.
func (c *child) complaint() string {
	text := make([]byte, 16<<10)
	_ = c.stderr.SetReadDeadline(time.Now().Add(time.Second))
	n, _ := io.ReadFull(c.stderr, text)
	return runtimeComplaint(string(text[:n]))
}

// runtimeComplaint is the line of a crash that tells most. The runtime ends a program for which the kernel has no thread,
// no descriptor or no memory.
func runtimeComplaint(text string) string {
	for _, known := range []struct{ words, means string }{
		{"failed to create new OS thread", tooFewProcesses},
		{"pthread_create failed", tooFewProcesses},
		{"netpollinit", tooFewDescriptors},
		{"out of memory", "there is not enough memory"},
		{"cannot allocate memory", "there is not enough memory"},
	} {
		if strings.Contains(text, known.words) {
			return known.means
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// childEnvironment holds what a Go program needs and nothing that could redirect it: gopsutil reads HOST_PROC and its
// kin, and net/http reads proxies.
func childEnvironment() []string {
	return []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "GOTRACEBACK=none", "GOMAXPROCS=" + os.Getenv("GOMAXPROCS"),
		"GOMEMLIMIT=" + os.Getenv("GOMEMLIMIT"), "GOGC=" + os.Getenv("GOGC"),
	}
}

// kill ends a child that waits for a dead mount once that lets it go, so that it does nothing after its parent has said that it failed.
func (c *child) kill() { _ = c.process.Kill() }

func (c *child) close() { closeAll(c.in, c.out, c.stderr) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
