package live

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// defaultAskLimit is how long a daemon has to answer. One that is well needs a millisecond; the kubelet itself would wait for 2
// minutes.
const defaultAskLimit = 2 * time.Second

// askGrace is for what has no deadline of its own: reading /proc.
const askGrace = 500 * time.Millisecond

// AskOptions say who may be asked.
type AskOptions struct {
	// Daemons are the processes that may own the socket.
	Daemons []Hint
	// Limit is how long the daemon has to answer; 0 is 2 seconds.
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
		opt.Limit = defaultAskLimit
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
			answer := runtimes.Answer{Status: refusal(err), Detail: err.Error()}
			if r.Assumed != "" { // it may well listen elsewhere
				answer = runtimes.Answer{Status: "not-asked", Detail: answer.Detail + ", and " + r.Assumed}
			}
			return Reply{Answer: answer}, nil
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
		return Reply{Answer: runtimes.Answer{Status: "timeout", Detail: "it accepted the request and did not answer"}}
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

var errNoMessage = errors.New("its answer has no version")

// noAnswer says what an error of the connection means.
func noAnswer(what string, err error) error {
	if isTimeout(err) {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}
