package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestWaitReapsAndEnds runs it as process 1 of a container, for which the kernel drops signals that it does not handle: it reaps
// processes that lose their parents, and ends on SIGTERM and SIGINT with 0.
func TestWaitReapsAndEnds(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a process table of its own needs root")
	}
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		// The shell leaves an orphan, and becomes the program: both as children of process 1.
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `(sh -c 'echo started; read line' <&3 &) ; exec "$0" wait`, program(t, programName))
		orphanIn, ours, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.ExtraFiles = []*os.File{orphanIn}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = orphanIn.Close()
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "started\n" {
			t.Fatal(line, err)
		}
		pid := cmd.Process.Pid
		testfuse.Await(t, "the orphan to be a child of the program", func() bool {
			return commOf(t, pid) == "nodeforensics" && len(childrenOf(t, pid)) == 1
		})
		_ = ours.Close() // the orphan ends
		testfuse.Await(t, "the orphan to be reaped", func() bool { return len(childrenOf(t, pid)) == 0 })
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", signal, err)
		}
	}
}

// childrenOf are the children of all threads, also those that have ended and were not waited for.
func childrenOf(t *testing.T, pid int) (all []string) {
	t.Helper()
	lists, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/children"))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread may have ended
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}
