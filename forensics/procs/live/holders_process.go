package live

import (
	"errors"
	"io/fs"
	"strconv"
)

// A subject is the process that is being read, or one of its threads where the first one has ended.
type subject struct {
	visit
	ns   uint64
	net  string // the link of its network namespace, "net:[4026531840]"
	root string
	tid  int // of a thread that is read for what it has of its own
	// shared are the descriptors of the process, for a thread.
	shared map[int]*named
}

// process reads a process. It is false if the goroutine that called it is lost.
func (s *scanner) process(pid int) (back bool) {
	name := strconv.Itoa(pid)
	dir, err := s.c.proc.OpenDir(name)
	if err != nil {
		s.trouble("processes", err)
		return true
	}
	p := &subject{visit: visit{c: s.c, pid: pid, key: "maps of pid " + name, dir: dir}}
	cwd, more := s.directories(p)
	if !more {
		_ = dir.Close()
		return true
	}
	exe, err := p.link("exe")
	s.trouble("programs", err)
	s.path(p.ns, atExe, exe)
	s.readDescriptors(p)
	if isGone(err) { // a kernel thread has no program, no memory and no other threads
		s.done(p)
		_ = dir.Close()
		return true
	}
	return s.readMaps(p, func() {
		s.done(p)
		s.threads(p, cwd)
		_ = dir.Close()
	})
}

// directories reads the working and root directory of a process, and its namespaces. It is false if there is no more to see:
// it is a zombie, or not ours to look at.
func (s *scanner) directories(p *subject) (cwd string, more bool) {
	cwd, err := p.dir.ReadLink("cwd")
	if isGone(err) {
		cwd, err = p.living(err)
	}
	if s.trouble("working directories", err); err != nil && !isTooLong(err) {
		if errors.Is(err, fs.ErrPermission) {
			s.denied = append(s.denied, p.pid)
		}
		return "", false
	}
	s.processes++
	s.namespaces(p)
	if list := s.members[p.ns]; len(list) < maxMembers {
		s.members[p.ns] = append(list, p.pid)
	}
	p.root, err = p.link("root")
	s.trouble("root directories", err)
	s.path(p.ns, atRoot, p.root)
	s.path(p.ns, atCwd, cwd)
	return cwd, true
}

// namespaces reads which namespaces the process or thread is in, as far as that tells what it holds.
func (s *scanner) namespaces(p *subject) {
	dir, err := p.dir.OpenDir(p.alive + "ns")
	if err != nil {
		s.trouble("mount namespaces", err)
		return
	}
	defer func() { _ = dir.Close() }()
	mnt, err := dir.ReadLink("mnt")
	s.trouble("mount namespaces", err)
	p.ns = parseNS(mnt, "mnt")
	p.net, err = dir.ReadLink("net")
	s.trouble("network namespaces", err)
}

func (p *subject) link(name string) (string, error) { return p.dir.ReadLink(p.alive + name) }

// living finds a thread that lives where the first has ended, as in a process that was killed while one of its threads
// waits in the kernel: that thread still holds all. It returns its working directory.
func (p *subject) living(first error) (string, error) {
	if !isGone(first) {
		return "", first
	}
	others, err := p.tasksBut(p.pid)
	for _, tid := range others {
		if cwd, err := p.dir.ReadLink(taskDir(tid) + "cwd"); err == nil {
			p.alive = taskDir(tid)
			return cwd, nil
		}
	}
	if err == nil {
		err = first
	}
	return "", err
}
