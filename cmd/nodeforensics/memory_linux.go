package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines/live"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// memoryPrefix begins what the reading child is told where it is to read the goroutines of a process, not a file.
const memoryPrefix = "\x00memory "

// openMemory has a child read the goroutines of a process from its memory, in the format of debug=2. A thread of the process may have
// the lock of that memory and wait for a dead mount: the child then stays behind.
func openMemory(pid int) (read.Content, error) {
	c, err := startChild(readerArg)
	if err != nil {
		return nil, err
	}
	in := &distantFile{child: c, text: bufio.NewReaderSize(c.out, 64<<10)}
	if err := in.begin(memoryPrefix + strconv.Itoa(pid)); err != nil {
		c.close()
		return nil, err
	}
	return in, nil
}

// sendMemory is what the child does then: the head, then the dump.
func sendMemory(pid int, out io.Writer) int {
	w := &headed{out: out}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := live.Read(ctx, pid, w)
	switch {
	case err == nil:
		return exitDone
	case !w.begun:
		var why syscall.Errno
		if errors.As(err, &why) { // without the path
			err = why
		}
		_ = json.NewEncoder(out).Encode(inputHead{Error: err.Error()})
	default:
		fmt.Fprintln(os.Stderr, err)
	}
	return exitFailed
}

// headed writes the head before the first bytes.
type headed struct {
	out   io.Writer
	begun bool
}

func (h *headed) Write(p []byte) (int, error) {
	if !h.begun {
		h.begun = true
		if err := json.NewEncoder(h.out).Encode(inputHead{Saved: time.Now()}); err != nil {
			return 0, err
		}
	}
	return h.out.Write(p)
}

// findProcess is the process with a number or, if there is only one, with a name.
func findProcess(what string) (int, error) {
	if pid, err := strconv.Atoi(what); err == nil {
		return pid, nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	var found []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		const most = 15 // TASK_COMM_LEN without the zero
		comm, err := os.ReadFile("/proc/" + e.Name() + "/comm")
		if err == nil && strings.TrimSuffix(string(comm), "\n") == what[:min(len(what), most)] {
			found = append(found, e.Name())
		}
	}
	if len(found) == 1 {
		return strconv.Atoi(found[0])
	}
	return 0, fmt.Errorf("%s: want one process of that name, found %s", what, cmp.Or(strings.Join(found, ", "), "none"))
}
