package unixgrpc

import (
	"net"

	"golang.org/x/sys/unix"
)

// listenerOf is the process that called listen(2) for the socket that a connection leads to; 0 is one outside of this
// program's PID namespace.
func listenerOf(conn net.Conn) (int, error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, unix.ENOTSOCK
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return 0, err
	}
	return int(peer.Pid), nil
}
