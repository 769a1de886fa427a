// Package unixgrpc makes one gRPC call with an empty request over a socket of which it is proven who listens.
//
// One call needs little of HTTP/2 (RFC 9113): a preface, settings, one request without compression of its headers, and
// to read frames until the answer is there. The client of net/http does not serve: from a hostile peer it reads frames without
// bound until the deadline, and logs each one that it does not know to standard error. A gRPC library would add more to this
// program than all that uses this package.
package unixgrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// A Process may own the socket. StartTicks is its start in clock ticks since boot; 0 is unknown.
type Process struct {
	PID        int
	StartTicks uint64
}

// A Request is one question.
type Request struct {
	FS *hostfs.FS
	// Socket is the path to connect to, Bound the path at which the server has bound it: another one where the server sees
	// other files; "" is the same.
	Socket, Bound string
	// Renamed says that the server binds another name in the directory of Bound, and renames the socket: /proc/net/unix keeps the first.
	Renamed bool
	// Processes are those that may own the socket, Program what they are called ("runtime").
	Processes []Process
	Program   string
	// Methods are tried in turn until one is answered: "runtime.v1.RuntimeService/Version".
	Methods []string
	// Limit bounds the message of the answer, in bytes.
	Limit int
}

// An Answer is what became of a request.
type Answer struct {
	// Status is "ok", "refused" (no process listens), "not-owned" (another process listens, so it was not asked), "timeout",
	// "not-asked" or "error". Detail says why it is not ok.
	Status, Detail string
	// PID is the process that was asked; 0 where none was.
	PID     int
	Message []byte
}

// Ask connects only if one of the processes has the listening socket open: a socket that systemd alone listens at would start
// the daemon. It ends with the context, but for what it reads of /proc and the way to the socket, which may block: the caller
// needs a probe.
func Ask(ctx context.Context, r Request) Answer {
	if r.Bound == "" {
		r.Bound = r.Socket
	}
	owner, err := r.owner()
	if err != nil {
		return refused(err)
	}
	var a Answer
	for _, method := range r.Methods {
		if a = r.exchange(ctx, method, owner); a.Status != "error" {
			break
		}
	}
	a.PID = owner.PID
	return a
}

// refused is the answer of nobody.
func refused(err error) Answer {
	var r refusal
	if errors.As(err, &r) {
		return Answer{Status: r.status, Detail: r.detail}
	}
	return Answer{Status: "not-asked", Detail: err.Error()}
}

func (r Request) exchange(ctx context.Context, method string, owner Process) Answer {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", r.Socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return Answer{Status: "refused", Detail: err.Error()}
	case errors.Is(err, syscall.EAGAIN): // unix(7): the backlog is full
		return Answer{Status: "timeout", Detail: "it accepts no more connections"}
	case isTimeout(err):
		return Answer{Status: "timeout", Detail: "no connection"}
	case err != nil:
		return Answer{Status: "error", Detail: err.Error()}
	}
	defer func() { _ = conn.Close() }()
	if err := r.leadsTo(conn, owner); err != nil {
		return refused(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	message, err := call(conn, method, r.Limit)
	switch {
	case isTimeout(err):
		return Answer{Status: "timeout", Detail: "it accepted the request and did not answer"}
	case err != nil:
		return Answer{Status: "error", Detail: err.Error()}
	}
	return Answer{Status: "ok", Message: message}
}

// call calls a method and returns the message of the answer.
func call(conn net.Conn, method string, limit int) ([]byte, error) {
	if _, err := conn.Write(request(method, limit)); err != nil {
		return nil, noAnswer("asking", err)
	}
	return readMessage(conn, limit)
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

var errNoMessage = errors.New("its answer has no message")

// noAnswer says what an error of the connection means.
func noAnswer(what string, err error) error {
	if isTimeout(err) {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}
