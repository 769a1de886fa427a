package procs

import (
	"cmp"
	"slices"
	"strings"
)

// ClassifyWait says what a thread waits for, given the function that it sleeps in (/proc/PID/task/TID/wchan) and its
// kernel stack, innermost first; lines of /proc/PID/task/TID/stack and of call traces in the kernel log will do as they
// are. Either may be missing. The names are those of Linux 2.6.32 to 6.18.
//
// WaitUnknown is for everything that is no wait in a file system, such as futex, epoll, pipes, sockets and an idle FUSE
// server, and for whatever it does not know.
//
// The innermost frame that means something decides, because a wait in one file system often happens on behalf of
// another (overlay on xfs, a page fault on NFS). A program that asks a server for a lock of a file (flock(2), fcntl(2)) waits
// as long as another program has it, which looks like a server that does not answer: that is WaitFileLock, if nothing shows
// more. Of the stack, it takes the frame that asks for the lock.
func ClassifyWait(wchan string, stack []string) Wait {
	frames := make([]string, 0, max(len(stack), 1))
	for _, line := range stack {
		if name := frameName(line); name != "" {
			frames = append(frames, name)
		}
	}
	if len(frames) == 0 {
		name := frameName(wchan)
		if name == "" || name == "0" {
			return Wait{}
		}
		frames = append(frames, name)
	}
	w := waiter{frames: frames}
	wait := w.classify()
	if asksForLock(frames) {
		wait = wait.forLock()
	}
	return wait
}

// ThreadWait is [ClassifyWait] for a thread of which the state and the system call are known, too (the text of
// /proc/PID/task/TID/syscall, "" if it could not be read). It is false for a thread that waits neither in a file system
// nor, being in state D, for something unknown that cannot be interrupted.
func ThreadWait(state, wchan, syscall string, stack []string) (Wait, bool) {
	wait := ClassifyWait(wchan, stack)
	if call, ok := ParseSyscall(syscall); ok && call.forLock() { // there may be no stack
		wait = wait.forLock()
	}
	switch {
	case wait.Kind == WaitUnknown && state == "D":
		wait = Wait{Kind: WaitOtherDisk, Function: wchan, Meaning: "The wait cannot be interrupted; its reason was not recognized."}
		if len(stack) > 0 {
			wait.Function = stack[0]
		} else if wait.Function == "0" {
			wait.Function = ""
		}
		return wait, true
	case wait.Kind == WaitOtherDisk:
		return wait, state == "D"
	}
	return wait, wait.Kind != WaitUnknown
}

// A waiter is the state of one classification.
type waiter struct {
	frames []string
	lock   bool   // a frame takes a lock
	percpu bool   // a frame takes a percpu_rw_semaphore
	io     string // the frame that waits for I/O, innermost
}

func (w *waiter) classify() Wait {
	top := 0
	for ; top < len(w.frames); top++ {
		name := w.frames[top]
		w.lock = w.lock || locks[name]
		w.percpu = w.percpu || percpuLocks[name]
		if !locks[name] && !percpuLocks[name] && !primitives[name] {
			break
		}
		if w.io == "" && ioPrimitives[name] {
			w.io = name
		}
	}
	rest := w.frames[top:]
	if w.percpu {
		return w.percpuWait(rest)
	}
	if len(rest) == 0 {
		return w.scan(rest)
	}
	if idleFunctions[rest[0]] && !waitsForChild[rest[0]] {
		return Wait{}
	}
	if c := topFrames()[rest[0]]; c != nil {
		return c.wait(rest[0], fileSystem(rest))
	}
	return w.scan(rest)
}

// percpuWait decides a wait for a percpu_rw_semaphore by the function that wants it.
func (w *waiter) percpuWait(rest []string) Wait {
	taken := w.frames[slices.IndexFunc(w.frames, func(name string) bool { return percpuLocks[name] })]
	if len(rest) == 0 {
		return frozenFS.wait(taken, "")
	}
	switch {
	case percpuCgroup[rest[0]]:
		return cgroupLock.wait(rest[0], "")
	case percpuOther[rest[0]]:
		return Wait{}
	}
	for _, name := range rest {
		if c := anyFrames()[name]; c != nil && c.Kind == WaitCgroup {
			return c.wait(name, "")
		}
	}
	return frozenFS.wait(taken, fileSystem(rest))
}

// The other users of percpu_rw_semaphore: cgroup_threadgroup_rwsem; the locks of CPU and memory hotplug and of uprobes.
var (
	percpuCgroup = words(`
		copy_process cgroup_can_fork cgroup_post_fork exit_signals begin_new_exec de_thread setup_new_exec do_exit
		cgroup_threadgroup_change_begin cgroup_attach_lock`)
	percpuOther = words(`
		cpus_read_lock cpus_write_lock get_online_cpus cpu_hotplug_begin _cpu_up _cpu_down get_online_mems mem_hotplug_begin
		uprobe_start_dup_mmap dup_mmap dup_mm uprobe_register uprobe_unregister register_for_each_vma static_key_slow_inc
		static_key_slow_inc_cpuslocked jump_label_lock stop_machine`)
)

// scan goes outwards to the first frame that decides. A frame that waits for a page or a block does so on behalf of a
// file system further out, and only that one tells whether a server or a disk has not answered.
func (w *waiter) scan(frames []string) Wait {
	for _, name := range frames {
		if reclaim[name] {
			break // memory is being freed: whatever comes further out waits for other files than its own
		}
		c := anyFrames()[name]
		if c == nil {
			c = prefixCause(name)
		}
		switch {
		case c == nil:
		case c.io:
			if w.io == "" {
				w.io = name
			}
		default:
			return w.decide(name, c, fileSystem(frames))
		}
	}
	if w.io != "" {
		return blockIO.wait(w.io, fileSystem(frames))
	}
	if w.lock && inVFS(frames) {
		return fsLock.wait(frames[0], "")
	}
	return Wait{}
}

// decide combines the cause of a frame with what was seen further in; fs is the file system that the stack names.
func (w *waiter) decide(name string, c *cause, fs string) Wait {
	switch {
	case w.io != "" && (c.Kind == WaitFSLock || c.Kind == WaitJournal || c.Kind == WaitBlock):
		return blockIO.wait(w.io, cmp.Or(c.FS, fs))
	case w.io != "" && c.Kind == WaitServer:
		c = &cause{WaitServer, c.FS, "", serverIO, false}
	case w.lock && (c.Kind == WaitServer || c.Kind == WaitFUSE):
		return fsLock.wait(name, cmp.Or(c.FS, fs))
	}
	return c.wait(name, fs)
}

// inVFS says whether a lock is taken by some call of the VFS, although nothing in the stack is known.
func inVFS(frames []string) bool {
	return slices.ContainsFunc(frames, func(name string) bool {
		return strings.HasPrefix(name, "vfs_") || strings.HasPrefix(name, "path_") || strings.HasPrefix(name, "filename_")
	})
}

// reclaim are the functions that free memory, for which they write pages of any file system.
var reclaim = words(`
	try_to_free_pages try_to_free_mem_cgroup_pages do_try_to_free_pages shrink_node shrink_zone shrink_zones shrink_lruvec
	shrink_inactive_list shrink_page_list shrink_folio_list shrink_slab do_shrink_slab __alloc_pages_slowpath
	__alloc_pages_direct_reclaim __alloc_pages __alloc_pages_noprof __alloc_pages_nodemask`)

// fileSystem returns the file system that the innermost of the frames names, "" if there is none.
func fileSystem(frames []string) string {
	for _, name := range frames {
		if reclaim[name] {
			break
		}
		if c := anyFrames()[name]; c != nil && c.FS != "" {
			return c.FS
		}
		if c := prefixCause(name); c != nil && c.FS != "" {
			return c.FS
		}
	}
	return ""
}
