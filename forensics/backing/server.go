package backing

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

// A server is an address and its ports; no ports are all of them.
type server struct {
	addr  netip.Addr
	ports []uint16
}

// serversOf takes the addresses out of a mount's options and source. Names are not looked up.
func serversOf(m *mounts.Mount) []server {
	var list []server
	add := func(text string, ports ...uint16) {
		if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
			list = append(list, server{addr.Unmap().WithZone(""), ports}) // the table of connections has no zones
		}
	}
	switch fsfamily.Of(m.FSType).Name {
	case fsfamily.NameNFS:
		port := uint16(2049)
		if n, err := strconv.ParseUint(option(m, "port"), 10, 16); err == nil && n != 0 {
			port = uint16(n)
		}
		add(option(m, "addr"), port)
	case fsfamily.NameCIFS:
		add(option(m, "addr"), 445, 139)
	case fsfamily.NameCeph: // monitors; the other daemons' ports are not known, their hosts are often the same
		monitors, _, _ := strings.Cut(m.Source, ":/")
		if option(m, "mon_addr") != "" {
			monitors = strings.ReplaceAll(option(m, "mon_addr"), "/", ",")
		}
		for monitor := range strings.SplitSeq(monitors, ",") {
			if at, err := netip.ParseAddrPort(monitor); err == nil {
				list = append(list, server{addr: at.Addr().Unmap().WithZone("")})
			} else {
				add(monitor)
			}
		}
	}
	return list
}

// servers are the daemons that owe answers.
func (c *CephState) servers() []server {
	if c == nil {
		return nil
	}
	var list []server
	for _, d := range c.Owing {
		if at, err := netip.ParseAddrPort(d.Address); err == nil {
			list = append(list, server{at.Addr().Unmap(), []uint16{at.Port()}})
		}
	}
	return list
}
