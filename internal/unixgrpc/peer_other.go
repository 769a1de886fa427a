//go:build !linux

package unixgrpc

import (
	"errors"
	"net"
)

// listenerOf is for Linux: elsewhere no daemon is asked.
func listenerOf(net.Conn) (int, error) { return 0, errors.ErrUnsupported }
