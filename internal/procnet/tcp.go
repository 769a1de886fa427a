// Package procnet reads the tables of sockets in /proc/PID/net (proc_pid_net(5)), each of one network namespace.
package procnet

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A Listener is a TCP socket in state LISTEN.
type Listener struct {
	// Addr is the address that it is bound to; one of IPv4 that an IPv6 socket has is an IPv4 address.
	Addr netip.Addr
	Port int
	// Inode is the number in the link of a descriptor, see [SocketInode].
	Inode uint64
}

// Listeners reads /proc/PID/net/tcp or tcp6:
//
//	sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
//	 0: 0100007F:2808 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 …
//
// Lines that do not look like that are passed over.
func Listeners(text string) []Listener {
	var found []Listener
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != "0A" {
			continue
		}
		at, ok := Parse(fields[1])
		inode, err := strconv.ParseUint(fields[9], 10, 64)
		if ok && err == nil {
			found = append(found, Listener{at.Addr(), int(at.Port()), inode})
		}
	}
	return found
}

// Parse reads an address and a port as tcp and tcp6 have them, "0100007F:2808": the address is in 32-bit words of network
// order, each printed as a number of this machine. An address of IPv4 that an IPv6 socket has is one of IPv4.
func Parse(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	number, err2 := strconv.ParseUint(port, 16, 16)
	if err != nil || err2 != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), ok
}

// Format is an address and a port as tcp and tcp6 have them; mapped is how an IPv6 socket has an address of IPv4.
func Format(at netip.AddrPort, mapped bool) string {
	raw := at.Addr().AsSlice()
	if as16 := at.Addr().As16(); mapped {
		raw = as16[:]
	}
	text := ""
	for i := 0; i < len(raw); i += 4 {
		text += fmt.Sprintf("%08X", binary.NativeEndian.Uint32(raw[i:]))
	}
	return fmt.Sprintf("%s:%04X", text, at.Port())
}

// SocketInode reads the link of a descriptor, "socket:[12345]"; false for what is no socket.
func SocketInode(link string) (uint64, bool) {
	number, ok := strings.CutPrefix(link, "socket:[")
	if !ok {
		return 0, false
	}
	inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
	return inode, err == nil
}
