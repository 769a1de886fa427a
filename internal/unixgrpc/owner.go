package unixgrpc

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/procstat"
)

// A refusal says why nobody was asked.
type refusal struct{ status, detail string }

func (r refusal) Error() string { return r.detail }

const (
	maxUnixSockets = 16 << 20 // /proc/net/unix, at about 100 bytes a socket
	maxDescriptors = 1 << 20
)

// owner finds which of the processes has a socket open that listens at the path, from /proc/net/unix and the links of
// /proc/PID/fd. It is an error if none has. There may be others of that name: a container in the host's network namespace can
// bind any path in its own mount namespace. To whom the connection leads is seen afterwards, see leadsTo.
func (r Request) owner() (Process, error) {
	text, err := r.FS.ReadFile("/proc/net/unix", maxUnixSockets)
	if err != nil && !errors.Is(err, nodefs.ErrTruncated) {
		return Process{}, err
	}
	bound := func(name string) bool { return canonical(name) == canonical(r.Bound) }
	if r.Renamed {
		bound = func(name string) bool { return path.Dir(canonical(name)) == path.Dir(canonical(r.Bound)) }
	}
	inodes := listeningAt(string(text), bound)
	if len(inodes) == 0 {
		return Process{}, refusal{"refused", "no process listens there"}
	}
	for _, d := range r.Processes {
		has, err := hasOne(r.FS, d.PID, inodes)
		if has && procstat.Same(r.FS, d.PID, d.StartTicks) == nil {
			return d, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Process{}, fmt.Errorf("its owner could not be determined: %w", err)
		}
	}
	return Process{}, r.notOwned("")
}

// notOwned is the refusal to ask somebody else.
func (r Request) notOwned(who string) error {
	return refusal{"not-owned", "no process of the " + r.Program + " has it open" + who}
}

// leadsTo makes sure that a connection leads to a process: the one that called listen(2), as the kernel remembers it
// (SO_PEERCRED, unix(7)), is this process, or process 1, which listens for it (systemd.socket(5)). The path may have been
// bound anew since the owner of its socket was looked for.
func (r Request) leadsTo(conn net.Conn, owner Process) error {
	pid, err := listenerOf(conn)
	if err != nil {
		return r.notOwned(": the listening process could not be determined: " + err.Error())
	}
	if pid != 1 && pid != owner.PID || procstat.Same(r.FS, owner.PID, owner.StartTicks) != nil {
		return r.notOwned(fmt.Sprintf(": process %d listens there now", pid))
	}
	return nil
}

// listeningAt reads /proc/net/unix (unix(7), proc_pid_net(5)) for sockets that listen at a path, as it was bound:
//
//	Num       RefCount Protocol Flags    Type St Inode Path
//	00000000: 00000002 00000000 00010000 0001 01 18011 /run/containerd/containerd.sock
//
// The flag 0x10000 is __SO_ACCEPTCON. A path below /run may have been bound through the link /var/run.
func listeningAt(text string, bound func(name string) bool) map[string]bool {
	inodes := map[string]bool{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 8 || f[7][0] != '/' || !bound(f[7]) {
			continue
		}
		if flags, err := strconv.ParseUint(f[3], 16, 32); err == nil && flags&0x10000 != 0 {
			inodes["socket:["+f[6]+"]"] = true
		}
	}
	return inodes
}

// hasOne says whether a process has one of some sockets open.
func hasOne(fsys *hostfs.FS, pid int, links map[string]bool) (bool, error) {
	dir, err := fsys.OpenDir(path.Join("/proc", strconv.Itoa(pid), "fd"))
	if err != nil {
		return false, err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.Entries(maxDescriptors)
	if err != nil && len(entries) == 0 {
		return false, err
	}
	for _, e := range entries {
		if link, err := dir.ReadLink(e.Name); err == nil && links[link] {
			return true, nil
		}
	}
	return false, nil
}

// canonical is a path below /run in the form without the link /var/run.
func canonical(name string) string {
	if name = path.Clean(name); strings.HasPrefix(name, "/var/run/") {
		return strings.TrimPrefix(name, "/var")
	}
	return name
}
