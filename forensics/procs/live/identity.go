package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// identity reads the identity of the process. Its files cannot block but for cgroup (see [visit.slow]).
func (v *visit) identity() *procs.Identity {
	id := &procs.Identity{UIDs: []int{}, Cgroups: []string{}, Unread: []string{}, ReaderUserNS: v.c.ownUserNS()}
	text, err := v.c.read(v.dir, v.alive+"status")
	noteUnread(id, "status", err)
	takeStatus(id, text)
	_, err = v.dir.ReadLink(v.alive + "ns/user")
	noteUnread(id, "ns/user", err)
	id.Executable, err = v.dir.ReadLink(v.alive + "exe")
	noteUnread(id, "exe", err)
	paths, err := v.groupPaths()
	id.Cgroups = append(id.Cgroups, paths...)
	noteUnread(id, "cgroup", err)
	return id
}

// groupPaths reads the cgroups. A process whose command line cannot be read, since the lock of its memory is held, has them all the
// same: without them it would not be known to be a daemon of the node.
func (v *visit) groupPaths() ([]string, error) {
	dir, name := v.dir, v.alive+"cgroup"
	read := func() ([]string, error) {
		text, err := dir.ReadFile(name, limitSmall)
		return cgroupPaths(text), err
	}
	switch {
	case v.c.cgroupLost:
		return nil, probe.ErrBusy
	case v.lost == nil:
		return ask(v, read)
	}
	ctx, cancel := context.WithTimeout(v.c.ctx, v.c.limits.Read)
	defer cancel()
	paths, err := probe.Do(ctx, v.c.opt.Group, "cgroups", read)
	if ctx.Err() != nil || errors.Is(err, probe.ErrBusy) {
		v.c.loseGroups(err)
	}
	return paths, err
}

// noteUnread notes that a file could not be read.
func noteUnread(id *procs.Identity, file string, err error) {
	if err != nil {
		id.Unread = append(id.Unread, fmt.Sprintf("%s: %v", file, err))
	}
}

// ownUserNS is the user namespace of this program, 0 if unknown. The link /proc/self is there only where /proc is that of
// this program's PID namespace: in another one, its pid is somebody else's.
func (c *collector) ownUserNS() uint64 {
	pid, err := c.proc.ReadLink("self")
	if err != nil {
		return 0
	}
	link, err := c.proc.ReadLink(pid + "/ns/user")
	if err != nil {
		return 0
	}
	return parseNS(link, "user")
}

// takeStatus takes the user ids and capabilities out of /proc/PID/status (proc_pid_status(5)):
//
//	Uid:	0	0	0	0
//	CapEff:	000001ffffffffff
func takeStatus(id *procs.Identity, text []byte) {
	for line := range bytes.Lines(text) {
		words := strings.Fields(string(line))
		switch {
		case len(words) == 5 && words[0] == "Uid:":
			for _, word := range words[1:4] {
				uid, err := strconv.ParseUint(word, 10, 32)
				if err != nil {
					id.UIDs = []int{}
					break
				}
				id.UIDs = append(id.UIDs, int(uid))
			}
		case len(words) == 2 && words[0] == "CapEff:":
			id.Capabilities = words[1]
		}
	}
}

// cgroupPaths are the paths of /proc/PID/cgroup (cgroups(7)), each once.
func cgroupPaths(text []byte) []string {
	var paths []string
	for line := range bytes.Lines(text) {
		parts := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(":"), 3)
		if len(parts) == 3 && !slices.Contains(paths, string(parts[2])) {
			paths = append(paths, string(parts[2]))
		}
	}
	return paths
}
