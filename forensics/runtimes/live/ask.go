package live

import (
	"context"
	"encoding/binary"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/unixgrpc"
)

// defaultAskLimit is how long a daemon has to answer. One that is well needs a millisecond; the kubelet itself would wait for 2
// minutes.
const defaultAskLimit = 2 * time.Second

// askGrace is for what has no deadline of its own: reading /proc.
const askGrace = 500 * time.Millisecond

// maxVersion bounds the answer, in bytes.
const maxVersion = 32 << 10

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
		return opt.ask(ctx, fsys, r), nil
	})
	if err != nil {
		return Reply{Answer: runtimes.Answer{Status: "timeout", Detail: err.Error()}}
	}
	return reply
}

// ask asks in the version of the interface that came with Kubernetes 1.20 and then in that before it, which is all that
// containerd before 1.6 knows.
func (opt AskOptions) ask(ctx context.Context, fsys *hostfs.FS, r runtimes.Runtime) Reply {
	request := unixgrpc.Request{
		FS: fsys, Socket: r.Socket, Program: "runtime", Limit: maxVersion,
		Methods: []string{"runtime.v1.RuntimeService/Version", "runtime.v1alpha2.RuntimeService/Version"},
	}
	for _, d := range opt.Daemons {
		request.Processes = append(request.Processes, unixgrpc.Process{PID: d.PID, StartTicks: d.StartTicks})
	}
	a := unixgrpc.Ask(ctx, request)
	answer := runtimes.Answer{Status: a.Status, Detail: a.Detail, PID: a.PID}
	if a.PID == 0 && r.Assumed != "" { // it may well listen elsewhere
		answer = runtimes.Answer{Status: "not-asked", Detail: a.Detail + ", and " + r.Assumed}
	}
	return Reply{answer, strings.TrimPrefix(parseVersion(a.Message), "v")}
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
