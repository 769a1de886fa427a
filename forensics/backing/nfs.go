package backing

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// NFSState is what the NFS client knows of one mount.
type NFSState struct {
	MountPoint string `json:"mount_point"`
	Server     string `json:"server,omitempty"`
	Version    string `json:"version,omitempty"`
	// Protocol is "tcp", "tcp6", "udp", "rdma", ... LocalPorts are those that the client connects from, if the kernel
	// shows them: for version 3.
	Protocol   string `json:"protocol,omitempty"`
	LocalPorts []int  `json:"local_ports"`
	// Hard says that callers wait until the server answers, however long that takes; otherwise they get an error after
	// TimeoutSeconds and Retransmissions further tries (nfs(5)).
	Hard            bool    `json:"hard"`
	TimeoutSeconds  float64 `json:"timeout_seconds,omitempty"`
	Retransmissions int     `json:"retransmissions,omitempty"`
	AgeSeconds      int64   `json:"age_seconds,omitempty"`
	// Sent and Received count requests and answers since the client was made, over all connections. Mounts of one
	// server and version share them. A request that was sent again counts again; Late are second answers to such requests.
	// A missing answer is not always awaited: it may have been lost with a connection.
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
	Late     int64 `json:"late"`
	// Outstanding are the requests to this server, by this version, that wait now. Transport says whether the client
	// is "connected" to it, "connecting" or "closed". Both are absent if debugfs does not show them.
	Outstanding *int64 `json:"outstanding,omitempty"`
	Transport   string `json:"transport,omitempty"`
	// IdleSeconds is the time since the last send. Connects counts attempts to connect.
	IdleSeconds int64 `json:"idle_seconds"`
	Connects    int64 `json:"connects"`
	// Timeouts counts requests that had to be sent again, Errors those that ended with an error (Linux 5.4).
	Timeouts int64 `json:"timeouts"`
	Errors   int64 `json:"errors"`
}

const maxStats = 8 << 20

// nfs finds the state of a mount.
func (b *backings) nfs(m *mounts.Mount) *NFSState {
	state := NFSState{MountPoint: m.MountPoint, LocalPorts: []int{}}
	for _, s := range b.stats() {
		if s.MountPoint == m.MountPoint {
			state = s // the last one is on top
		}
	}
	state.Server, _, _ = strings.Cut(m.Source, ":/")
	state.options(m)
	state.requests(b.rpc(), serversOf(m))
	return &state
}

// options takes over what the mount table says.
func (s *NFSState) options(m *mounts.Mount) {
	s.Version = option(m, "vers")
	s.Protocol = option(m, "proto")
	_, soft := m.SuperOption("soft")
	_, softerr := m.SuperOption("softerr")
	s.Hard = !soft && !softerr
	if tenths, err := strconv.Atoi(option(m, "timeo")); err == nil {
		s.TimeoutSeconds = float64(tenths) / 10
	}
	if n, err := strconv.Atoi(option(m, "retrans")); err == nil {
		s.Retransmissions = n
	}
}

// judgeNFS says what the connections and the requests show together.
func (b *backings) judgeNFS(one *Backing, m *mounts.Mount) {
	one.Connections = b.ownConnections(one.NFS, one.Connections)
	s := one.NFS
	if s.Outstanding != nil && *s.Outstanding == 0 {
		return
	}
	if one.Fault, one.Why = connectionFault(one.Connections, false); one.Fault == FaultNone && s.waiting() {
		one.Fault, one.Why = b.unanswered(one, m)
	}
	switch {
	case one.Fault == FaultNone:
		return
	case s.Outstanding != nil && *s.Outstanding == 1:
		one.Why += "; 1 request waits"
	case s.Outstanding != nil:
		one.Why += fmt.Sprintf("; %d requests wait", *s.Outstanding)
	}
	one.Why += "; " + s.patience()
}

// ownConnections are those of one mount among those to its server: they use its own local ports, or, if the kernel does
// not show these, ports of no other mount.
func (b *backings) ownConnections(s *NFSState, list []Connection) []Connection {
	own := []Connection{}
	for _, c := range list {
		others := false
		for _, other := range b.stats() {
			others = others || slices.Contains(other.LocalPorts, c.LocalPort)
		}
		if slices.Contains(s.LocalPorts, c.LocalPort) || len(s.LocalPorts) == 0 && !others {
			own = append(own, c)
		}
	}
	return own
}

// unanswered says why requests wait although no connection shows trouble. A client that is refused tries again every few
// seconds, and between two tries there is no connection in the table.
func (b *backings) unanswered(one *Backing, m *mounts.Mount) (Fault, string) {
	live := slices.ContainsFunc(one.Connections, func(c Connection) bool { return c.State == "established" })
	servers := serversOf(m)
	if len(servers) == 0 {
		return FaultSilent, "the server does not respond"
	}
	at := netip.AddrPortFrom(servers[0].addr, servers[0].ports[0])
	arp, _ := b.fsys.ReadFile(b.proc+"net/arp", maxTCP) // without it, one may be beyond a router
	switch host := neighbour(arp, at.Addr()); {
	case live:
		return FaultSilent, fmt.Sprintf("the host of %s acknowledges data, but its service does not respond", at)
	case one.NFS.Transport == "connected" || !strings.HasPrefix(one.NFS.Protocol, "tcp"): // from another network namespace, or over UDP
		return FaultSilent, fmt.Sprintf("%s does not respond", at)
	case host == neighbourGone:
		return FaultUnreachable, fmt.Sprintf("no machine answers ARP for %s: the host or the network is down", at.Addr())
	case host == neighbourThere:
		return FaultRefused, fmt.Sprintf("no connection to %s is open, but its host answers ARP: no service listens", at)
	default:
		return FaultLost, fmt.Sprintf("no connection to %s is open, and no attempt to connect was seen", at)
	}
}

// patience says what the options mean for callers.
func (s *NFSState) patience() string {
	if s.Hard {
		return "the mount is hard: callers wait until the server answers, or are killed"
	}
	tries := s.Retransmissions + 1
	if strings.HasPrefix(s.Protocol, "udp") { // the time between tries doubles; over TCP it grows by timeo
		tries = 1 << min(s.Retransmissions, 16)
	}
	return fmt.Sprintf("the mount is soft: callers get an error after %g s or later", s.TimeoutSeconds*float64(tries))
}

// waiting says whether requests are known to wait, or may well, where only the counters are known.
func (s *NFSState) waiting() bool {
	if s.Outstanding != nil {
		return *s.Outstanding > 0
	}
	return s.Sent > s.Received+s.Late
}
