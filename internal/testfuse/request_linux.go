package testfuse

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// A Request is one that a server has read and not answered.
type Request struct {
	Opcode uint32 // of linux/fuse.h
	// Thread is whose it is, 0 for that of another PID namespace and for much that the kernel does by itself, such as reading ahead.
	// Process is the thread's, 0 if that has ended meanwhile.
	Thread, Process int
	Command         string // the thread's name
	Kernel          bool   // nobody's program asks: it is a thread of the kernel's, or one that is not known
}

func (r Request) String() string {
	name := opNames[r.Opcode]
	if name == "" {
		name = fmt.Sprint("opcode ", r.Opcode)
	}
	return fmt.Sprintf("%s of thread %d/%d (%s)", name, r.Process, r.Thread, r.Command)
}

var opNames = map[uint32]string{
	opLookup: "LOOKUP", opGetattr: "GETATTR", opSetattr: "SETATTR", opReadlink: "READLINK", opOpen: "OPEN", opRead: "READ", opWrite: "WRITE",
	opStatfs: "STATFS", opRelease: "RELEASE", opFsync: "FSYNC", opFlush: "FLUSH", opOpendir: "OPENDIR", opReaddir: "READDIR",
	opReleasedir: "RELEASEDIR", opFsyncdir: "FSYNCDIR", opAccess: "ACCESS", opCreate: "CREATE",
}

// requestBy looks up who asks. Most wait for the answer, so they are still there.
func requestBy(h inHeader) Request {
	r := Request{Opcode: h.Opcode, Thread: int(h.PID)}
	dir := fmt.Sprintf("/proc/%d/", h.PID)
	status, _ := os.ReadFile(dir + "status")
	for line := range strings.SplitSeq(string(status), "\n") {
		if id, ok := strings.CutPrefix(line, "Tgid:"); ok {
			r.Process, _ = strconv.Atoi(strings.TrimSpace(id))
		}
	}
	name, _ := os.ReadFile(dir + "comm")
	r.Command = string(bytes.TrimSpace(name))
	_, err := os.Readlink(dir + "exe")
	r.Kernel = err != nil
	return r
}
