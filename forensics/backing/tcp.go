package backing

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/internal/procnet"
)

// A Connection is a TCP connection of this machine.
type Connection struct {
	Remote string `json:"remote"` // "10.0.0.9:2049"
	State  string `json:"state"`  // "established", "syn-sent", ...
	// UnackedBytes were sent and are not acknowledged, or not sent yet. Retransmits is how often the oldest of them was
	// sent again.
	UnackedBytes int64 `json:"unacked_bytes"`
	Retransmits  int   `json:"retransmits"`
	LocalPort    int   `json:"local_port"`
}

const (
	maxTCP         = 16 << 20
	maxConnections = 16 // of one file system
)

// tcpStates are those of include/net/tcp_states.h.
var tcpStates = map[string]string{
	"01": "established", "02": "syn-sent", "03": "syn-recv", "04": "fin-wait-1", "05": "fin-wait-2", "06": "time-wait",
	"07": "close", "08": "close-wait", "09": "last-ack", "0A": "listen", "0B": "closing", "0C": "new-syn-recv",
}

// connections finds those to some servers.
func (b *backings) connections(servers []server) []Connection {
	found := []Connection{}
	if len(servers) == 0 {
		return found
	}
	for _, c := range b.tcp() {
		at, err := netip.ParseAddrPort(c.Remote)
		if err == nil && len(found) < maxConnections && slices.ContainsFunc(servers, func(s server) bool {
			return s.addr == at.Addr() && (len(s.ports) == 0 || slices.Contains(s.ports, at.Port()))
		}) {
			found = append(found, c)
		}
	}
	return found
}

func (b *backings) readTCP() (list []Connection) {
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		list = append(list, parseTCP(b.read("connections", b.proc+name, maxTCP))...)
	}
	return list
}

// parseTCP reads /proc/net/tcp or tcp6 (proc_net_tcp.rst), without listening sockets:
//
//	sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
//	 1: 0F02000A:0301 0900000A:0801 01 00000054:00000000 01:00000014 00000003     0        0 23456
func parseTCP(text []byte) []Connection {
	var list []Connection
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 7 || string(f[3]) == "0A" {
			continue
		}
		remote, ok := procnet.Parse(string(f[2]))
		_, port, _ := bytes.Cut(f[1], []byte{':'})
		local, err := strconv.ParseUint(string(port), 16, 16)
		unsent, _, _ := bytes.Cut(f[4], []byte{':'})
		queue, err1 := strconv.ParseUint(string(unsent), 16, 32)
		again, err2 := strconv.ParseUint(string(f[6]), 16, 31)
		if !ok || err != nil || err1 != nil || err2 != nil {
			continue // the heading
		}
		state := tcpStates[string(f[3])]
		if state == "" {
			state = string(f[3])
		}
		list = append(list, Connection{Remote: remote.String(), State: state, UnackedBytes: int64(queue), Retransmits: int(again), LocalPort: int(local)})
	}
	return list
}

// The answers of neighbour.
const (
	neighbourThere = "there"
	neighbourGone  = "gone" // it was asked for and nobody has answered
)

// neighbour says what /proc/PID/net/arp (proc(5)) knows of a machine in the same network segment; "" of one beyond a
// router, and by IPv6. The flags are those of include/uapi/linux/if_arp.h: 0x2 (ATF_COM) where somebody has answered.
//
//	IP address       HW type     Flags       HW address            Mask     Device
//	10.9.0.2         0x1         0x0         00:00:00:00:00:00     *        c0
func neighbour(arp []byte, addr netip.Addr) string {
	const complete = 0x2
	found := ""
	for line := range bytes.Lines(arp) {
		f := bytes.Fields(line)
		if len(f) < 4 || string(f[0]) != addr.String() {
			continue
		}
		if flags, err := strconv.ParseUint(string(f[2]), 0, 32); err == nil && flags&complete != 0 {
			return neighbourThere
		}
		found = neighbourGone
	}
	return found
}

// connectionFault says what the connections to a server show. waiting says that requests are in flight.
func connectionFault(list []Connection, waiting bool) (Fault, string) {
	var live int
	for _, c := range list {
		switch {
		case c.State == "syn-sent":
			return FaultUnreachable, "the client tries to connect to " + c.Remote + " and gets no answer: the host or the network is down"
		case c.State == "established" && c.UnackedBytes > 0 && c.Retransmits > 1:
			return FaultUnreachable, fmt.Sprintf("%d bytes to %s are not acknowledged after %d retransmissions: the host or the network is down",
				c.UnackedBytes, c.Remote, c.Retransmits)
		case c.State == "established":
			live++
		}
	}
	switch {
	case !waiting || len(list) == 0:
		return FaultNone, ""
	case live > 0:
		return FaultSilent, "the host of " + list[0].Remote + " acknowledges data, but its service does not respond"
	}
	return FaultRefused, "the connection to " + list[0].Remote + " is " + list[0].State + " and none is open"
}
