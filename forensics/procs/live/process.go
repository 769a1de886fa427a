package live

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// flagExiting is PF_EXITING: the process is on its way out.
const flagExiting = 0x00000004

// A visit is the reading of one process. Its directory stays open meanwhile, so that everything is read of that very
// process, whoever gets its pid next.
type visit struct {
	c    *collector
	pid  int
	key  string // for probe
	dir  *hostfs.Dir
	stat procs.Stat
	// alive is the directory of a thread that has not ended, "task/TID/", if the first one has: then the process's own
	// files know nothing any more. That is what a killed process looks like of which a thread cannot die.
	alive string
	lost  error // a read that did not return: no more of those
}

// process reads one process and its threads. One that ends meanwhile is absent.
func (c *collector) process(pid int) {
	name := strconv.Itoa(pid)
	dir, err := c.proc.OpenDir(name)
	if err != nil {
		if !isGone(err) {
			c.problems.add("processes", err)
		}
		return
	}
	defer func() { _ = dir.Close() }()
	v := visit{c: c, pid: pid, key: "pid " + name, dir: dir}
	if !v.readStat() {
		return
	}
	before := len(c.waiting)
	v.threads()
	p, ok := v.process(len(c.waiting) > before)
	if !ok {
		c.waiting = c.waiting[:before]
		return
	}
	c.processes = append(c.processes, p)
}

func (v *visit) readStat() bool {
	text, err := v.c.head(v.dir, "stat")
	if err == nil {
		v.stat, err = procs.ParseStat(text)
	}
	if err != nil && !isGone(err) {
		v.c.problems.add(v.dir.Path()+"/stat", err)
	}
	return err == nil
}

// process describes the process; waiting says that one of its threads waits. It is false if the process has ended.
func (v *visit) process(waiting bool) (procs.Process, bool) {
	p := procs.Process{
		PID:        v.pid,
		PPID:       v.stat.PPID,
		StartTicks: v.stat.StartTicks,
		Started:    v.c.started(v.stat.StartTicks),
		Comm:       v.stat.Comm,
		State:      v.stat.State,
		Threads:    v.stat.Threads,
		Command:    []string{},
		Kernel:     v.stat.Kernel(),
	}
	if p.Kernel {
		return p, true // the rest is the same for all of them and says nothing
	}
	if p.MountNS, p.UserNS = v.namespaces(); v.brief(p.MountNS) {
		p.UID, p.Command = -1, nil
		return p, true
	}
	text, err := v.c.read(v.dir, "status")
	if err != nil && isGone(err) {
		return p, false
	}
	p.UID = procs.ParseStatus(text).UID
	v.slow(&p, waiting)
	if identify := v.c.opt.Identify; identify != nil && identify(p.Comm, p.Command) {
		p.Identity = v.identity()
	}
	return p, true
}

// brief says that a process is in the mount namespace of which little is asked.
func (v *visit) brief(mountNS uint64) bool { return mountNS != 0 && mountNS == v.c.opt.Brief }

// mountNS returns the inode number of the mount namespace of the process, or of a thread ("task/TID/"): they differ if
// the thread has entered another one. The link reads "mnt:[4026531840]".
func (v *visit) mountNS(task string) uint64 {
	link, err := v.dir.ReadLink(task + "ns/mnt")
	return v.inode(link, err)
}

// namespaces returns the inode numbers of the mount and the user namespace of the process, from a directory that is
// opened once for both. 0 is one that could not be read.
func (v *visit) namespaces() (mount, user uint64) {
	ns, err := v.dir.OpenDir(v.alive + "ns")
	if err != nil {
		return v.inode("", err), 0
	}
	defer func() { _ = ns.Close() }()
	link, err := ns.ReadLink("mnt")
	mount = v.inode(link, err)
	if v.brief(mount) {
		return mount, 0
	}
	if link, err = ns.ReadLink("user"); err == nil { // it needs the same rights, and one complaint will do
		user = parseNS(link, "user")
	}
	return mount, user
}

func (v *visit) inode(link string, err error) uint64 {
	if err != nil {
		if !isGone(err) {
			v.c.problems.add("mount namespaces", err)
		}
		return 0
	}
	return parseNS(link, "mnt")
}

// A group is what /proc/PID/cgroup says.
type group struct{ path, pod, container string }

func readGroup(dir *hostfs.Dir, alive string) group {
	var buf [512]byte
	text, _ := dir.Append(buf[:0], alive+"cgroup", limitSmall) // absent in a kernel without cgroups
	path, pod, container := procs.ParseCgroup(text)
	return group{path, pod, container}
}

// slow reads the two files that may block: cgroup, on kernels where that takes the cgroup lock (before 6.7), and
// cmdline, which takes the lock of the memory map. They share one call, since a call under probe costs more than a read;
// the cgroup is handed over before the command line is begun.
func (v *visit) slow(p *procs.Process, waiting bool) {
	groups := make(chan group, 1)
	switch {
	case v.lost != nil:
		p.CommandError = v.lost.Error()
		v.groupAlone(groups)
	case waiting && v.c.lost >= v.c.limits.Lost:
		p.CommandError = "not read: too many other processes did not answer"
		v.groupAlone(groups)
	default:
		v.command(p, groups)
	}
	select {
	case g := <-groups:
		p.Cgroup, p.PodUID, p.ContainerID = g.path, g.pod, g.container
	default:
	}
	v.c.budget(p.PodUID).spend(p.Command)
}

func (v *visit) command(p *procs.Process, groups chan<- group) {
	skip, dir, alive := v.c.cgroupLost, v.dir, v.alive
	ofPod, ofHost := v.c.podCommands.limit(), v.c.hostCommands.limit()
	words, err := ask(v, func() ([]string, error) {
		limit := ofPod
		if !skip {
			g := readGroup(dir, alive)
			groups <- g
			if g.pod == "" {
				limit = ofHost
			}
		}
		return readCommand(dir, alive, limit)
	})
	if words != nil {
		p.Command = words
	}
	if err != nil && !isGone(err) {
		p.CommandError = err.Error()
	}
	if errors.Is(err, nodefs.ErrTruncated) {
		v.c.problems.add("command lines", err)
	}
	if v.lost != nil && !skip && len(groups) == 0 {
		v.c.loseGroups(err)
	}
}

// readCommand reads a command line. Of one that is cut, the word that the cut is in is left out, unless there is no
// other: half of a secret does not look like one any more.
func readCommand(dir *hostfs.Dir, alive string, limit int64) ([]string, error) {
	var buf [512]byte
	text, err := dir.Append(buf[:0], alive+"cmdline", limit)
	words := splitCommand(text)
	if errors.Is(err, nodefs.ErrTruncated) && len(words) > 1 {
		words = words[:len(words)-1]
	}
	return words, err
}

// groupAlone reads the cgroup of a process that has something else that blocks.
func (v *visit) groupAlone(groups chan<- group) {
	if v.c.cgroupLost {
		return
	}
	dir, alive := v.dir, v.alive
	ctx, cancel := context.WithTimeout(v.c.ctx, v.c.limits.Read)
	defer cancel()
	g, err := probe.Do(ctx, v.c.opt.Group, "cgroups", func() (group, error) { return readGroup(dir, alive), nil })
	if err != nil {
		v.c.loseGroups(err)
		return
	}
	groups <- g
}

// loseGroups gives up reading cgroups: they all wait for one lock.
func (c *collector) loseGroups(err error) {
	c.cgroupLost = true
	c.problems.add("cgroups", err)
}

// splitCommand splits a command line at its NULs. A process that has written its title over it has no NUL but at the
// end, or many there.
func splitCommand(text []byte) []string {
	text = bytes.TrimRight(text, "\x00")
	if len(text) == 0 {
		return []string{}
	}
	return strings.Split(string(text), "\x00")
}
