package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// child is a process of this program in another role.
type child struct {
	process *os.Process
	in, out *os.File              // our ends of its standard input and output
	ended   chan *os.ProcessState // how it ended, if it does before we do
}

// startChild starts this program again, in a session of its own and with no descriptor of ours but two pipes. Standard
// error goes nowhere: a process that is stuck must not hold anything of the terminal. Nothing is looked up on the way.
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
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		closeAll(childIn, in, out, childOut)
		return nil, err
	}
	process, err := os.StartProcess("/proc/self/exe", []string{"nodeforensics", role}, &os.ProcAttr{
		Files: []*os.File{childIn, childOut, null}, Env: childEnvironment(), Sys: &syscall.SysProcAttr{Setsid: true},
	})
	closeAll(childIn, childOut, null)
	if err != nil {
		closeAll(in, out)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w (is /proc mounted?)", err)
		}
		return nil, fmt.Errorf("start a process: %w", err)
	}
	c := &child{process, in, out, make(chan *os.ProcessState, 1)}
	go func() {
		if state, err := process.Wait(); err == nil {
			c.ended <- state
		}
	}()
	return c, nil
}

// fate says how a child ended whose output has: the pipe is closed a moment before the process is gone.
func (c *child) fate(err error) error {
	select {
	case state := <-c.ended:
		return errors.New(state.String())
	case <-time.After(time.Second):
		return err
	}
}

// childEnvironment holds what a Go program needs and nothing that could redirect it: gopsutil reads HOST_PROC and its
// kin, and net/http reads proxies.
func childEnvironment() []string {
	return []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "GOTRACEBACK=single", "GOMAXPROCS=" + os.Getenv("GOMAXPROCS"),
		"GOMEMLIMIT=" + os.Getenv("GOMEMLIMIT"), "GOGC=" + os.Getenv("GOGC"),
	}
}

func (c *child) close() { closeAll(c.in, c.out) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
