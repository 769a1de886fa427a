package live

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

var (
	errNobodyListens = errors.New("no process listens there")
	errNotOwned      = errors.New("no process of the runtime has it open")
)

const (
	maxUnixSockets = 16 << 20 // /proc/net/unix, at about 100 bytes a socket
	maxDescriptors = 1 << 20
)

// socketOwner finds which of the daemons has a socket open that listens at a path, from /proc/net/unix and the links of
// /proc/PID/fd. It is an error if none has. There may be others of that name: a container in the host's network namespace can
// bind any path in its own mount namespace. To whom the connection leads is seen afterwards, see leadsTo.
func socketOwner(fsys *hostfs.FS, socket string, daemons []Hint) (Hint, error) {
	text, err := fsys.ReadFile("/proc/net/unix", maxUnixSockets)
	if err != nil && !errors.Is(err, nodefs.ErrTruncated) {
		return Hint{}, err
	}
	inodes := listeningAt(string(text), socket)
	if len(inodes) == 0 {
		return Hint{}, errNobodyListens
	}
	for _, d := range daemons {
		has, err := hasOne(fsys, d.PID, inodes)
		if has && procstat.Same(fsys, d.PID, d.StartTicks) == nil {
			return d, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Hint{}, fmt.Errorf("its owner could not be determined: %w", err)
		}
	}
	return Hint{}, errNotOwned
}

// leadsTo makes sure that a connection leads to a daemon: the process that called listen(2), as the kernel remembers it
// (SO_PEERCRED, unix(7)), is the daemon, or process 1, which listens for it (systemd.socket(5)). The path may have been
// bound anew since the owner of its socket was looked for.
func leadsTo(fsys *hostfs.FS, conn net.Conn, daemon Hint) error {
	pid, err := listenerOf(conn)
	if err != nil {
		return fmt.Errorf("%w: the listening process could not be determined: %w", errNotOwned, err)
	}
	if pid != 1 && pid != daemon.PID || procstat.Same(fsys, daemon.PID, daemon.StartTicks) != nil {
		return fmt.Errorf("%w: process %d listens there now", errNotOwned, pid)
	}
	return nil
}

// listeningAt reads /proc/net/unix (unix(7), proc_pid_net(5)) for sockets that listen at a path:
//
//	Num       RefCount Protocol Flags    Type St Inode Path
//	00000000: 00000002 00000000 00010000 0001 01 18011 /run/containerd/containerd.sock
//
// The flag 0x10000 is __SO_ACCEPTCON. A path below /run may have been bound through the link /var/run.
func listeningAt(text, socket string) map[string]bool {
	inodes := map[string]bool{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 8 || canonical(f[7]) != canonical(socket) || f[7][0] != '/' {
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
