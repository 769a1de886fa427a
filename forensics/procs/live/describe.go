package live

import (
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// describe says which system call a thread is in, what that was asked about, and which mount that is on.
func (v *visit) describe(t *procs.Thread, dir string, l look) {
	t.MountNS = v.mountNS(dir)
	call, ok := procs.ParseSyscall(l.syscall)
	if !ok {
		return
	}
	t.Syscall = &call
	if call.Name == "" {
		return
	}
	kinds := call.Kinds()
	if kinds == "" {
		return
	}
	targets, err := ask(v, func() ([]target, error) { return v.targets(dir, kinds, l), nil })
	if err != nil || len(targets) == 0 {
		return
	}
	t.Path, t.PathFrom = targets[0].path, targets[0].from
	// In a call of its own: reading links on a dead disk must not lose the path.
	root, _ := v.dir.ReadLink(dir + "root")
	w := where{table: v.table(t, root), root: root, fs: t.Wait.FS, elsewhere: procs.WaitsElsewhere(l.stack)}
	place, err := ask(v, func() (place, error) {
		start := v.openRoot(dir)
		defer start.close()
		w.readLink = start.readLink
		return w.choose(targets), nil
	})
	if err != nil {
		if m := w.reading.Load(); m != nil && !w.elsewhere && mayWaitOn(w.fs, *m) { // where we stop, the thread did
			t.MountID, t.Device = m.ID, m.Device
		}
		return
	}
	t.Path, t.PathFrom = place.path, place.from
	t.MountID, t.Device = place.mountID, place.device
}

// table returns the mount table of the namespace of a thread, nil if unknown. A thread that has been chrooted would show
// only a part of it, so another one is looked for.
func (v *visit) table(t *procs.Thread, root string) *mounts.Index {
	if v.c.opt.Table == nil || t.MountNS == 0 {
		return nil
	}
	reader := t.TID
	if root != "/" {
		if reader = v.c.unchrooted(t.MountNS); reader == 0 {
			return nil
		}
	}
	return v.c.opt.Table(reader, t.MountNS)
}

// unchrooted returns a process that is in a mount namespace and has its root, among the first one and those read so far;
// 0 if there is none.
func (c *collector) unchrooted(ns uint64) int {
	if pid, ok := c.readers[ns]; ok {
		return pid
	}
	pids := []int{1}
	for i := range c.processes {
		if c.processes[i].MountNS == ns {
			pids = append(pids, c.processes[i].PID)
		}
	}
	for _, pid := range pids {
		dir := strconv.Itoa(pid) + "/"
		in, err := c.proc.ReadLink(dir + "ns/mnt")
		if err != nil || parseNS(in, "mnt") != ns {
			continue
		}
		if root, err := c.proc.ReadLink(dir + "root"); err == nil && root == "/" {
			c.readers[ns] = pid
			return pid
		}
	}
	return 0
}

// targets reads what the call was asked about. If the thread has gone on meanwhile, its memory proves nothing about the
// call that was seen, and there are none.
func (v *visit) targets(dir string, kinds string, seen look) []target {
	call, _ := procs.ParseSyscall(seen.syscall)
	r := targetReader{dir: v.dir, task: dir, args: call.Values()}
	r.root, _ = v.dir.ReadLink(dir + "root")
	if mem, err := v.c.fsys.OpenFile(v.dir.Path() + "/" + dir + "mem"); err == nil {
		defer func() { _ = mem.Close() }()
		r.mem = mem
	}
	targets := r.targets(kinds)
	if !v.unchanged(dir, seen) {
		return nil
	}
	return targets
}

// unchanged says whether a thread is still in the system call that was seen, and has not run since.
func (v *visit) unchanged(dir string, seen look) bool {
	if readSyscall(v.dir, dir) != seen.syscall {
		return false
	}
	text, err := v.dir.ReadFile(dir+"status", limitSmall)
	if err != nil {
		return false
	}
	status := procs.ParseStatus(text)
	return status.Switches == seen.switches && status.Counted == seen.counted
}
