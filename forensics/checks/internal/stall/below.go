package stall

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// threadBelow finds the thread that a wait for a child or for a shim ends at: the only one of those processes that has waited for a file
// system for longer than --hung-after.
func threadBelow(p *forensics.Pass, w Wait, server int) (found *procs.Thread, why string) {
	why = "it is the only child process that waits for a file system"
	switch {
	case w.Kind == waitShim:
		why = "it is the only process of a shim that waits for a file system"
	case w.PID != 0:
		why = "the goroutine waits for this child process"
	}
	key := fmt.Sprint("thread below ", w.Kind, w.PID, server) // many requests may wait for the same
	if w.Kind == waitShim {
		key = "thread below a shim"
	}
	found = forensics.Once(p, key, func() *procs.Thread { return onlyThreadBelow(p, w, server) })
	return found, why
}

func onlyThreadBelow(p *forensics.Pass, w Wait, server int) (found *procs.Thread) {
	for _, waiter := range Waiters(p, "") {
		process, ok := p.Model.Process(waiter.Thread.PID)
		if !ok || waiter.Seconds < HungAfter(p) || !isBelow(p, process, w, server) {
			continue
		}
		if found != nil && found.PID != process.PID {
			return nil
		}
		if found == nil {
			t := waiter.Thread
			found = &t
		}
	}
	return found
}

// isBelow says whether a process works for a server's request: for a wait for a shim, the shim itself or what it runs to make and end a
// container, not the container; for a wait for a child, that child or what it started.
func isBelow(p *forensics.Pass, process procs.Process, w Wait, server int) bool {
	if w.Kind == waitShim {
		return isShim(process.Comm) || isOCIRuntime(process.Comm) && ancestor(p, process, func(a procs.Process) bool { return isShim(a.Comm) })
	}
	if w.PID != 0 {
		return process.PID == w.PID || ancestor(p, process, func(a procs.Process) bool { return a.PID == w.PID })
	}
	return isMountTool(process.Comm) && ancestor(p, process, func(a procs.Process) bool { return a.PID == server })
}

// actsOnTask says whether a shim runs runc for a call, which is over within a second on a healthy node. Others (State, Stats) are asked all
// the time: one that is under way says nothing.
func actsOnTask(call string) bool {
	switch call {
	case "Create", "Start", "Kill", "Delete", "CreateSandbox", "StartSandbox", "StopSandbox", "ShutdownSandbox":
		return true
	}
	return false
}

func isShim(comm string) bool { return strings.HasPrefix(comm, "containerd-shim") || comm == "conmon" }

// isOCIRuntime knows runc's own name while it starts a container, too: "runc:[2:INIT]".
func isOCIRuntime(comm string) bool {
	return comm == "runc" || strings.HasPrefix(comm, "runc:[") || comm == "crun" || comm == "youki" || comm == "runsc"
}

// isMountTool knows what a driver runs for one request. Other children, the FUSE servers among them, may serve other volumes.
func isMountTool(comm string) bool {
	switch comm {
	case "mount", "umount", "findmnt", "blkid", "lsblk", "fsck", "nsenter", "resize2fs", "xfs_growfs", "stat", "df", "ls", "chown", "chmod", "rm", "sh", "bash":
		return true
	}
	for _, prefix := range []string{"mount.", "umount.", "mkfs", "fsck."} {
		if strings.HasPrefix(comm, prefix) {
			return true
		}
	}
	return false
}

// ancestor says whether a parent of a process, or one of theirs, is so.
func ancestor(p *forensics.Pass, process procs.Process, is func(procs.Process) bool) bool {
	const deepest = 16 // and a circle in broken evidence ends
	for range deepest {
		parent, ok := p.Model.Process(process.PPID)
		if !ok {
			return false
		}
		if is(parent) {
			return true
		}
		process = parent
	}
	return false
}
