package live

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/procstat"
)

// DefaultAskLimit is how long a daemon has to answer. One that is well needs a millisecond; the kubelet itself would wait for 2
// minutes.
const DefaultAskLimit = 2 * time.Second

// askGrace is for what has no deadline of its own: reading /proc.
const askGrace = 500 * time.Millisecond

const (
	maxUnixSockets = 16 << 20 // /proc/net/unix, at about 100 bytes a socket
	maxDescriptors = 1 << 20
)

// AskOptions say who may be asked.
type AskOptions struct {
	// Daemons are the processes that may own the socket.
	Daemons []Hint
	// Limit is how long the daemon has to answer; 0 is DefaultAskLimit.
	Limit time.Duration
	Group *probe.Group
}

// A Reply is an Answer and what it said.
type Reply struct {
	runtimes.Answer
	// Version is the runtime's own, without v.
	Version string
}

// Ask asks a runtime for its version over its socket: the CRI call RuntimeService/Version, the cheapest that it has. It
// connects only if a process of the runtime has the listening socket open: a socket that systemd alone listens at
// would start the daemon.
func Ask(ctx context.Context, fsys *hostfs.FS, r runtimes.Runtime, opt AskOptions) Reply {
	if opt.Limit == 0 {
		opt.Limit = DefaultAskLimit
	}
	if !fsys.Live() || r.Socket == "" {
		return Reply{Answer: runtimes.Answer{Status: "not-asked", Detail: "no socket on this machine"}}
	}
	ctx, cancel := context.WithTimeout(ctx, opt.Limit)
	defer cancel()
	outer, cancelOuter := context.WithTimeout(context.WithoutCancel(ctx), opt.Limit+askGrace)
	defer cancelOuter()
	reply, err := probe.Do(outer, opt.Group, "socket "+r.Socket, func() (Reply, error) {
		daemon, err := socketOwner(fsys, r.Socket, opt.Daemons)
		if err != nil {
			return Reply{Answer: runtimes.Answer{Status: refusal(err), Detail: err.Error()}}, nil
		}
		reply := exchange(ctx, r.Socket, func(conn net.Conn) error { return leadsTo(fsys, conn, daemon) })
		reply.PID = daemon.PID
		return reply, nil
	})
	if err != nil {
		return Reply{Answer: runtimes.Answer{Status: "timeout", Detail: err.Error()}}
	}
	return reply
}

var (
	errNobodyListens = errors.New("nobody listens there")
	errNotOwned      = errors.New("no process of the runtime has it open")
)

// refusal names the reason for which nobody was asked.
func refusal(err error) string {
	switch {
	case errors.Is(err, errNobodyListens):
		return "refused"
	case errors.Is(err, errNotOwned):
		return "not-owned"
	}
	return "not-asked"
}

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
			return Hint{}, fmt.Errorf("who has it open could not be seen: %w", err)
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
		return fmt.Errorf("%w: who listens could not be seen: %w", errNotOwned, err)
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

// exchange asks in the version of the interface that came with Kubernetes 1.20 and then in that before it, which is all
// that containerd before 1.6 knows.
func exchange(ctx context.Context, socket string, check func(net.Conn) error) Reply {
	var reply Reply
	for _, service := range []string{"runtime.v1", "runtime.v1alpha2"} {
		reply = exchangeOnce(ctx, socket, service, check)
		if reply.Status != "error" {
			break
		}
	}
	return reply
}

func exchangeOnce(ctx context.Context, socket, service string, check func(net.Conn) error) Reply {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return Reply{Answer: runtimes.Answer{Status: "refused", Detail: err.Error()}}
	case errors.Is(err, syscall.EAGAIN): // unix(7): the backlog is full
		return Reply{Answer: runtimes.Answer{Status: "timeout", Detail: "it accepts no more connections"}}
	case isTimeout(err):
		return Reply{Answer: runtimes.Answer{Status: "timeout", Detail: "no connection"}}
	case err != nil:
		return Reply{Answer: runtimes.Answer{Status: "error", Detail: err.Error()}}
	}
	defer func() { _ = conn.Close() }()
	if err := check(conn); err != nil {
		return Reply{Answer: runtimes.Answer{Status: refusal(err), Detail: err.Error()}}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	message, err := callVersion(conn, service)
	switch {
	case isTimeout(err):
		return Reply{Answer: runtimes.Answer{Status: "timeout", Detail: "it took the question and did not answer"}}
	case err != nil:
		return Reply{Answer: runtimes.Answer{Status: "error", Detail: err.Error()}}
	}
	return Reply{runtimes.Answer{Status: "ok"}, strings.TrimPrefix(parseVersion(message), "v")}
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// parseVersion reads runtime_version (3) of a VersionResponse (cri-api runtime/v1/api.proto).
func parseVersion(message []byte) (version string) {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag&7 != 2 { // all its fields are strings
			return version
		}
		message = message[n:]
		length, n := binary.Uvarint(message)
		if n <= 0 || length > uint64(len(message)-n) {
			return version
		}
		end := n + int(length)
		if tag>>3 == 3 {
			version = string(message[n:end])
		}
		message = message[end:]
	}
	return version
}

var errNoMessage = errors.New("it answered, but not with a version")

// noAnswer says what an error of the connection means.
func noAnswer(what string, err error) error {
	if isTimeout(err) {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}
