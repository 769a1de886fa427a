package testfuse

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// serveMain is the server process: it mounts, answers the kernel in one goroutine and the test in another, and ends
// with the test process.
func serveMain() int {
	// A stopped server whose parent ends gets SIGHUP and SIGCONT from the kernel, and has to survive the first.
	signal.Ignore(unix.SIGHUP)
	dec, enc := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	var req mountRequest
	if dec.Decode(&req) != nil {
		return 1
	}
	fd, reply := mountHere(req)
	if reply.Errno != 0 {
		_ = enc.Encode(reply)
		return 1
	}
	k := newKernel(fd, newTree(req.Options))
	go k.serve()
	<-k.initialised
	over := make(chan struct{})
	go func() {
		defer close(over)
		if enc.Encode(reply) == nil {
			k.obey(dec, enc)
		}
	}()
	awaitEnd(over, req.Starter)
	detach(req.Dir, 5*time.Second)
	return 0
}

// obey carries out orders until there are no more.
func (k *kernel) obey(dec *gob.Decoder, enc *gob.Encoder) {
	for {
		var o order
		if dec.Decode(&o) != nil {
			return
		}
		if o.Trouble != nil {
			k.setTrouble(*o.Trouble)
		}
		if enc.Encode(report{Requests: k.list()}) != nil {
			return
		}
	}
}

// awaitEnd returns when over is closed or the thread that started this process is gone. The end of the input alone
// does not tell: if a thread of the dying test process waits for this very server, the descriptors of that process
// stay open, and each would wait for the other.
func awaitEnd(over <-chan struct{}, starter int) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for parent := os.Getppid(); threadRuns(parent, starter); {
		select {
		case <-over:
			return
		case <-tick.C:
		}
	}
}

// threadRuns reports whether a thread is there and is no zombie, as the first thread of a process remains one.
func threadRuns(pid, tid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	if err != nil {
		return false
	}
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !bytes.HasPrefix(state, []byte(" Z")) && !bytes.HasPrefix(state, []byte(" X"))
}

// mountHere opens a FUSE connection and mounts it.
func mountHere(req mountRequest) (fd int, reply mountReply) {
	opt := req.Options
	if opt.Below != "" { // the descriptor stays open as long as the process lives
		if _, err := unix.Open(opt.Below, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			errors.As(err, &reply.Errno)
			return -1, reply
		}
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		errors.As(err, &reply.Errno)
		return -1, reply
	}
	data := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=0", fd, opt.UserID)
	if !opt.NoAllowOther {
		data += ",allow_other"
	}
	if err := unix.Mount(opt.Source, req.Dir, opt.Type, unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		errors.As(err, &reply.Errno)
		return -1, reply
	}
	reply.Minor, err = deviceMinor(req.Dir)
	if err != nil {
		reply.Error = err.Error()
	}
	return fd, reply
}

// deviceMinor returns the minor number of the topmost superblock on dir. Asking mountinfo asks no file system. The
// major number of one without a block device is 0, and FUSE names its connections by the minor.
func deviceMinor(dir string) (int, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return 0, err
	}
	escaped := strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`, "\n", `\012`).Replace(dir)
	minor := -1
	for line := range strings.Lines(string(mountinfo)) {
		fields := strings.Fields(line)
		if len(fields) < 5 || fields[4] != escaped {
			continue
		}
		if _, err := fmt.Sscanf(fields[2], "0:%d", &minor); err != nil {
			return 0, fmt.Errorf("device %q of %s: %w", fields[2], dir, err)
		}
	}
	if minor < 0 {
		return 0, fmt.Errorf("mount on %s is not in mountinfo", dir)
	}
	return minor, nil
}
