package live

import (
	"net/netip"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/procnet"
)

func TestOnlyOwned(t *testing.T) {
	listen := func(addr string, inode uint64) procnet.Listener {
		return procnet.Listener{Addr: netip.MustParseAddr(addr), Port: 10250, Inode: inode}
	}
	owned := map[uint64]bool{1: true, 2: true, 9: false}
	for name, tc := range map[string]struct {
		addr string
		all  []procnet.Listener
		want bool
	}{
		"wildcard":                        {"127.0.0.1", []procnet.Listener{listen("0.0.0.0", 1)}, true},
		"wildcard v6":                     {"127.0.0.1", []procnet.Listener{listen("::", 1)}, true},
		"foreign":                         {"127.0.0.1", []procnet.Listener{listen("0.0.0.0", 9)}, false},
		"foreign is more specific":        {"127.0.0.1", []procnet.Listener{listen("0.0.0.0", 1), listen("127.0.0.1", 9)}, false},
		"own is more specific":            {"127.0.0.1", []procnet.Listener{listen("0.0.0.0", 9), listen("127.0.0.1", 1)}, true},
		"foreign v4 beside own v6":        {"127.0.0.1", []procnet.Listener{listen("::", 1), listen("0.0.0.0", 9)}, false},
		"foreign v6 beside own v4":        {"127.0.0.1", []procnet.Listener{listen("::", 9), listen("0.0.0.0", 1)}, true},
		"shared port, both own":           {"127.0.0.1", []procnet.Listener{listen("0.0.0.0", 1), listen("0.0.0.0", 2)}, true},
		"shared port, one foreign":        {"127.0.0.1", []procnet.Listener{listen("0.0.0.0", 1), listen("0.0.0.0", 9)}, false},
		"shared, foreign first":           {"127.0.0.1", []procnet.Listener{listen("0.0.0.0", 9), listen("0.0.0.0", 1)}, false},
		"v6 address, only v4 listens":     {"::1", []procnet.Listener{listen("0.0.0.0", 1)}, false},
		"foreign listens elsewhere":       {"127.0.0.1", []procnet.Listener{listen("10.0.0.1", 9), listen("::", 1)}, true},
		"own address of the node":         {"10.0.0.1", []procnet.Listener{listen("10.0.0.1", 1)}, true},
		"nobody":                          {"127.0.0.1", nil, false},
		"a socket that was never checked": {"127.0.0.1", []procnet.Listener{listen("127.0.0.1", 42)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := onlyOwned(netip.MustParseAddr(tc.addr), tc.all, owned); got != tc.want {
				t.Errorf("onlyOwned = %t; want %t", got, tc.want)
			}
		})
	}
}
