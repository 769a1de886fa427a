package procs

import (
	"strconv"
)

// threads looks for threads that have directories or a mount namespace of their own, as a container runtime's that has
// entered a container has.
func (s *scanner) threads(p *subject, root, cwd string) {
	if p.alive != "" {
		return // what is left of a process that was killed
	}
	if info, err := p.dir.Lstat("task"); err == nil && info.Nlink == 3 {
		return // nlink counts "." and "..", and a directory for each thread
	}
	tasks, err := p.dir.OpenDir("task")
	if err != nil {
		s.trouble("threads", err)
		return
	}
	defer func() { _ = tasks.Close() }()
	entries, err := tasks.Entries(p.c.limits.Tasks)
	s.trouble("threads", err)
	for _, e := range entries {
		if tid, ok := parseID(e.Name); ok && tid != p.pid {
			s.thread(p, tid, root, cwd)
		}
	}
}

// thread reads what a thread has for itself, if it differs from its process in a directory or the namespace.
func (s *scanner) thread(p *subject, tid int, root, cwd string) {
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
	itsRoot, err := dir.ReadLink("root")
	if err != nil {
		return
	}
	t := subject{visit: p.visit, tid: tid}
	t.alive = task
	if t.ns = t.mountNS(task); t.ns == 0 || itsCwd == cwd && itsRoot == root && t.ns == p.ns {
		return
	}
	if list := s.members[t.ns]; len(list) < maxMembers && t.ns != p.ns {
		s.members[t.ns] = append(list, tid) // /proc/TID is there, though it is not listed
	}
	s.path(atRoot, itsRoot)
	s.path(atCwd, itsCwd)
	t.shared = map[int]*named{}
	err = s.links.Each(p.dir, "fd", maxDescriptors, func(name, text []byte, err error) {
		if err == nil {
			t.shared[number(name)] = s.name(text)
		}
	})
	s.trouble("descriptors", err)
	s.readDescriptors(&t)
	s.done(&t)
}
