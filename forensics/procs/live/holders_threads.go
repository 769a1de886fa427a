package live

import (
	"slices"
	"strconv"
	"strings"
)

// threads looks for threads that have directories, descriptors or a mount namespace of their own, as a container runtime's
// that has entered a container has.
func (s *scanner) threads(p *subject, cwd string) {
	if info, err := p.dir.Lstat("task"); err == nil && info.Nlink == 3 {
		return // nlink counts "." and "..", and a directory for each thread
	}
	first := p.reader()
	others, err := p.tasksBut(first)
	s.trouble("threads", err)
	if len(others) == 0 {
		return
	}
	var separate []int
	if s.c.fsys.Live() { // elsewhere these are the numbers of other processes
		separate, _ = ask(&p.visit, func() ([]int, error) { return ownFiles(first, others), nil })
	}
	for _, tid := range others {
		s.thread(p, tid, cwd, slices.Contains(separate, tid))
	}
}

// tasksBut lists the threads of a process but the first and another one. With an error the list may be incomplete.
func (p *subject) tasksBut(other int) (tids []int, err error) {
	tasks, err := p.dir.OpenDir("task")
	if err != nil {
		return nil, err
	}
	defer func() { _ = tasks.Close() }()
	entries, err := tasks.Entries(p.c.limits.Tasks)
	for _, e := range entries {
		if tid, ok := parseID(e.Name); ok && tid != p.pid && tid != other {
			tids = append(tids, tid)
		}
	}
	return tids, err
}

// reader is the thread that a process is read through: the first one, or another if that has ended.
func (p *subject) reader() int {
	if tid, ok := parseID(strings.Trim(strings.TrimPrefix(p.alive, "task"), "/")); ok {
		return tid
	}
	return p.pid
}

// thread reads what a thread has for itself, if it differs from its process in a directory or the namespace, or has
// descriptors of its own (ownFDs).
func (s *scanner) thread(p *subject, tid int, cwd string, ownFDs bool) {
	task := taskDir(tid)
	dir, err := p.dir.OpenDir("task/" + strconv.Itoa(tid))
	if err != nil {
		s.trouble("threads", err)
		return
	}
	defer func() { _ = dir.Close() }()
	itsCwd, err := dir.ReadLink("cwd")
	if err != nil {
		s.trouble("working directories", err)
		return // it has ended
	}
	t := subject{visit: p.visit, tid: tid}
	if t.root, err = dir.ReadLink("root"); err != nil {
		return
	}
	t.alive = task
	s.namespaces(&t)
	elsewhere := t.ns != p.ns || itsCwd != cwd || t.root != p.root
	if t.ns == 0 || !elsewhere && !ownFDs {
		return
	}
	if list := s.members[t.ns]; len(list) < maxMembers && t.ns != p.ns {
		s.members[t.ns] = append(list, tid) // /proc/TID is there, though it is not listed
	}
	if elsewhere {
		s.path(t.ns, atRoot, t.root)
		s.path(t.ns, atCwd, itsCwd)
	}
	t.shared = map[int]*named{}
	err = s.links.Each(p.dir, p.alive+"fd", maxDescriptors, func(name, text []byte, err error) {
		if err == nil {
			t.shared[number(name)] = s.name(text)
		}
	})
	s.trouble("descriptors", err)
	s.readDescriptors(&t)
	s.done(&t)
}
