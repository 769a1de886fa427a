package kubelet

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

var (
	// errNotListening says that no socket listens on the port.
	errNotListening = errors.New("nobody listens")
	// errNotOwned says that the kubelet's process does not provably own the socket that a connection would reach.
	errNotOwned = errors.New("not the kubelet's socket")
)

const (
	// maxSockets bounds /proc/PID/net/tcp, which lists listening sockets before all others (net/ipv4/tcp_ipv4.c,
	// tcp_seq_next), at 150 bytes each.
	maxSockets     = 4 << 20
	maxDescriptors = 1 << 20
)

// A listener is a TCP socket in state LISTEN.
type listener struct {
	addr  netip.Addr
	port  int
	inode uint64
}

// parseListeners reads /proc/PID/net/tcp or tcp6 (proc_pid_net(5)):
//
//	sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
//	 0: 0100007F:2808 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 …
//
// Lines that do not look like that are passed over.
func parseListeners(text string) []listener {
	var found []listener
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != "0A" {
			continue
		}
		host, portText, _ := strings.Cut(fields[1], ":")
		addr, ok := parseAddr(host)
		portNumber, portErr := strconv.ParseUint(portText, 16, 16)
		inode, inodeErr := strconv.ParseUint(fields[9], 10, 64)
		if ok && portErr == nil && inodeErr == nil {
			found = append(found, listener{addr, int(portNumber), inode})
		}
	}
	return found
}

// parseAddr reads an address as the kernel prints it: 32-bit words of network order, each printed as a number of this
// machine.
func parseAddr(text string) (netip.Addr, bool) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.Addr{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, ok := netip.AddrFromSlice(raw)
	return addr.Unmap(), ok
}

// An owner finds the sockets of a process.
type owner struct {
	fs    *hostfs.FS
	group *probe.Group
	pid   int
	ticks uint64 // when the process was started, see sameProcess
}

// targets returns the addresses to dial for a port, best first. The process owns every listening socket that the kernel
// could choose for one of them. Whom a connection really leads to is seen afterwards, see accepted.
func (o owner) targets(ctx context.Context, port int) ([]netip.AddrPort, error) {
	key := fmt.Sprintf("sockets of pid %d on port %d", o.pid, port)
	return probe.Do(ctx, o.group, key, func() ([]netip.AddrPort, error) { return o.find(port) })
}

func (o owner) find(port int) ([]netip.AddrPort, error) {
	if err := o.sameNetwork(); err != nil {
		return nil, err
	}
	all, err := o.listeners()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(l listener) bool { return l.port != port })
	if len(all) == 0 {
		return nil, fmt.Errorf("port %d: %w", port, errNotListening)
	}
	inodes := make([]uint64, len(all))
	for i, l := range all {
		inodes[i] = l.inode
	}
	owned, err := o.owned(inodes...)
	if err != nil {
		return nil, err
	}
	var addrs []netip.AddrPort
	for _, l := range all {
		if !owned[l.inode] {
			continue
		}
		for _, addr := range dialAddrs(l.addr) {
			target := netip.AddrPortFrom(addr, uint16(port))
			if !slices.Contains(addrs, target) && onlyOwned(addr, all, owned) {
				addrs = append(addrs, target)
			}
		}
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("port %d: %w: another process listens", port, errNotOwned)
	}
	return addrs, nil
}

// sameNetwork checks that an address means the same to the process and to this program: kubelets of kind nodes listen in
// network namespaces of their own.
func (o owner) sameNetwork() error {
	own, ownErr := o.fs.ReadLink("/proc/self/ns/net")
	its, itsErr := o.fs.ReadLink(procPath(o.pid, "ns/net"))
	if ownErr == nil && itsErr == nil && own != its {
		return fmt.Errorf("%w: it is in another network namespace (%s, not %s)", errNotOwned, its, own)
	}
	return nil
}

// listeners reads the listening sockets of the network namespace.
func (o owner) listeners() ([]listener, error) {
	var found []listener
	read := false
	var problem error
	for _, name := range []string{"net/tcp", "net/tcp6"} { // tcp6 is absent where IPv6 is disabled
		text, err := o.fs.ReadFile(procPath(o.pid, name), maxSockets)
		if err != nil && !errors.Is(err, nodefs.ErrTruncated) {
			problem = firstError(problem, err)
			continue
		}
		read = true
		found = append(found, parseListeners(string(text))...)
	}
	if !read {
		return nil, fmt.Errorf("%w, as far as can be seen: %w", errNotOwned, problem)
	}
	return found, nil
}

// owned finds which of the sockets are open in the process, by their inodes.
func (o owner) owned(inodes ...uint64) (map[uint64]bool, error) {
	open := make(map[uint64]bool, len(inodes))
	for _, inode := range inodes {
		open[inode] = false
	}
	dir, err := o.fs.OpenDir(procPath(o.pid, "fd"))
	if err != nil {
		return nil, fmt.Errorf("%w, as far as can be seen: %w", errNotOwned, err)
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.Entries(maxDescriptors)
	if err != nil && len(entries) == 0 {
		return nil, fmt.Errorf("%w, as far as can be seen: %w", errNotOwned, err)
	}
	missing := len(open)
	for _, entry := range entries {
		link, err := dir.ReadLink(entry.Name)
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("%w, as far as can be seen: %w", errNotOwned, err)
		}
		inode, ok := socketInode(link)
		if owned, wanted := open[inode]; ok && wanted && !owned {
			open[inode] = true
			if missing--; missing == 0 {
				break
			}
		}
	}
	if err := sameProcess(o.fs, o.pid, o.ticks); err != nil {
		return nil, fmt.Errorf("%w, as far as can be seen: %w", errNotOwned, err)
	}
	return open, nil
}

// socketInode reads "socket:[12345]".
func socketInode(link string) (uint64, bool) {
	number, ok := strings.CutPrefix(link, "socket:[")
	if !ok {
		return 0, false
	}
	inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
	return inode, err == nil
}

// dialAddrs returns where to reach a socket that is bound to an address. One that is bound to :: usually takes IPv4, too.
func dialAddrs(addr netip.Addr) []netip.Addr {
	loopback4 := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	switch {
	case addr == netip.IPv6Unspecified():
		return []netip.Addr{loopback4, netip.IPv6Loopback()}
	case addr.IsUnspecified():
		return []netip.Addr{loopback4}
	}
	return []netip.Addr{addr}
}

// onlyOwned reports whether all sockets that may get a connection to addr are owned: those bound to the most specific
// matching address. Several can share one (SO_REUSEPORT).
func onlyOwned(addr netip.Addr, all []listener, owned map[uint64]bool) bool {
	best, ok := -1, false
	for _, l := range all {
		rank := specificity(l.addr, addr)
		switch {
		case rank < 0 || rank < best:
		case rank > best:
			best, ok = rank, owned[l.inode]
		default:
			ok = ok && owned[l.inode]
		}
	}
	return ok
}

// specificity ranks a bound address for a connection to addr as the kernel does (net/ipv4/inet_hashtables.c,
// compute_score); -1 does not match.
func specificity(bound, addr netip.Addr) int {
	switch {
	case bound == addr:
		return 2
	case bound == netip.IPv4Unspecified() && addr.Is4():
		return 1
	case bound == netip.IPv6Unspecified():
		return 0
	}
	return -1
}
