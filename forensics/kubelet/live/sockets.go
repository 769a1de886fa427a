package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/procnet"
	"github.com/nodeforensics/nodeforensics/internal/procstat"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

var (
	// errNotListening says that no socket listens on the port.
	errNotListening = errors.New("no process listens")
	// errNotOwned says that the kubelet's process does not provably own the socket that a connection would reach.
	errNotOwned = errors.New("not the kubelet's socket")
)

const (
	// maxSockets bounds /proc/PID/net/tcp, which lists listening sockets before all others (net/ipv4/tcp_ipv4.c,
	// tcp_seq_next), at 150 bytes each.
	maxSockets     = 4 << 20
	maxDescriptors = 1 << 20
)

// An owner finds the sockets of a process.
type owner struct {
	fs    *hostfs.FS
	group *probe.Group
	pid   int
	ticks uint64 // when the process was started, see procstat.Same
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
	all = sorting.Delete(all, func(l procnet.Listener) bool { return l.Port != port })
	if len(all) == 0 {
		return nil, fmt.Errorf("port %d: %w", port, errNotListening)
	}
	inodes := make([]uint64, len(all))
	for i, l := range all {
		inodes[i] = l.Inode
	}
	owned, err := o.owned(inodes...)
	if err != nil {
		return nil, err
	}
	var addrs []netip.AddrPort
	for _, l := range all {
		if !owned[l.Inode] {
			continue
		}
		for _, addr := range dialAddrs(l.Addr) {
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
func (o owner) listeners() ([]procnet.Listener, error) {
	var found []procnet.Listener
	read := false
	var problem error
	for _, name := range []string{"net/tcp", "net/tcp6"} { // tcp6 is absent where IPv6 is disabled
		text, err := o.fs.ReadFile(procPath(o.pid, name), maxSockets)
		if err != nil && !errors.Is(err, nodefs.ErrTruncated) {
			problem = cmp.Or(problem, err)
			continue
		}
		read = true
		found = append(found, procnet.Listeners(string(text))...)
	}
	if !read {
		return nil, fmt.Errorf("%w, as far as visible: %w", errNotOwned, problem)
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
		return nil, fmt.Errorf("%w, as far as visible: %w", errNotOwned, err)
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.Entries(maxDescriptors)
	if err != nil && len(entries) == 0 {
		return nil, fmt.Errorf("%w, as far as visible: %w", errNotOwned, err)
	}
	missing := len(open)
	for _, entry := range entries {
		link, err := dir.ReadLink(entry.Name)
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("%w, as far as visible: %w", errNotOwned, err)
		}
		inode, ok := procnet.SocketInode(link)
		if owned, wanted := open[inode]; ok && wanted && !owned {
			open[inode] = true
			if missing--; missing == 0 {
				break
			}
		}
	}
	if err := procstat.Same(o.fs, o.pid, o.ticks); err != nil {
		return nil, fmt.Errorf("%w, as far as visible: %w", errNotOwned, err)
	}
	return open, nil
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
func onlyOwned(addr netip.Addr, all []procnet.Listener, owned map[uint64]bool) bool {
	best, ok := -1, false
	for _, l := range all {
		rank := specificity(l.Addr, addr)
		switch {
		case rank < 0 || rank < best:
		case rank > best:
			best, ok = rank, owned[l.Inode]
		default:
			ok = ok && owned[l.Inode]
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
