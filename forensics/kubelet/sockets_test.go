package kubelet

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseListeners(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the texts below are of a little-endian machine")
	}
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	for name, tc := range map[string]struct {
		text string
		want []listener
	}{
		"heading only": {head, nil},
		"loopback":     {head + "   0: 0100007F:2808 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0000000000000000 100 0 0 10 0\n", []listener{{netip.MustParseAddr("127.0.0.1"), 10248, 12345}}},
		"wildcard v6":  {head + "   0: 00000000000000000000000000000000:280A 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77 1 0 100 0 0 10 0\n", []listener{{netip.IPv6Unspecified(), 10250, 77}}},
		"loopback v6":  {"0: 00000000000000000000000001000000:280A 0:0 0A 0:0 0:0 0 0 0 77\n", []listener{{netip.IPv6Loopback(), 10250, 77}}},
		"mapped":       {"0: 0000000000000000FFFF00000100007F:280A 0:0 0A 0:0 0:0 0 0 0 77\n", []listener{{netip.MustParseAddr("127.0.0.1"), 10250, 77}}},
		"established":  {"0: 0100007F:2808 0100007F:9999 01 0:0 0:0 0 0 0 5\n", nil},
		"short line":   {"0: 0100007F:2808 0:0 0A\n", nil},
		"no address":   {"0: XX00007F:2808 0:0 0A 0:0 0:0 0 0 0 5\n0: 0100:2808 0:0 0A 0:0 0:0 0 0 0 5\n", nil},
		"no port":      {"0: 0100007F 0:0 0A 0:0 0:0 0 0 0 5\n", nil},
		"cut":          {"0: 0100007F:2808 0:0 0A 0:0 0:0 0 0 0 5\n0: 0100007F:28", []listener{{netip.MustParseAddr("127.0.0.1"), 10248, 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := parseListeners(tc.text)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(listener{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("listeners (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyOwned(t *testing.T) {
	listen := func(addr string, inode uint64) listener { return listener{netip.MustParseAddr(addr), 10250, inode} }
	owned := map[uint64]bool{1: true, 2: true, 9: false}
	for name, tc := range map[string]struct {
		addr string
		all  []listener
		want bool
	}{
		"wildcard":                        {"127.0.0.1", []listener{listen("0.0.0.0", 1)}, true},
		"wildcard v6":                     {"127.0.0.1", []listener{listen("::", 1)}, true},
		"foreign":                         {"127.0.0.1", []listener{listen("0.0.0.0", 9)}, false},
		"foreign is more specific":        {"127.0.0.1", []listener{listen("0.0.0.0", 1), listen("127.0.0.1", 9)}, false},
		"own is more specific":            {"127.0.0.1", []listener{listen("0.0.0.0", 9), listen("127.0.0.1", 1)}, true},
		"foreign v4 beside own v6":        {"127.0.0.1", []listener{listen("::", 1), listen("0.0.0.0", 9)}, false},
		"foreign v6 beside own v4":        {"127.0.0.1", []listener{listen("::", 9), listen("0.0.0.0", 1)}, true},
		"shared port, both own":           {"127.0.0.1", []listener{listen("0.0.0.0", 1), listen("0.0.0.0", 2)}, true},
		"shared port, one foreign":        {"127.0.0.1", []listener{listen("0.0.0.0", 1), listen("0.0.0.0", 9)}, false},
		"shared, foreign first":           {"127.0.0.1", []listener{listen("0.0.0.0", 9), listen("0.0.0.0", 1)}, false},
		"v6 address, only v4 listens":     {"::1", []listener{listen("0.0.0.0", 1)}, false},
		"foreign listens elsewhere":       {"127.0.0.1", []listener{listen("10.0.0.1", 9), listen("::", 1)}, true},
		"own address of the node":         {"10.0.0.1", []listener{listen("10.0.0.1", 1)}, true},
		"nobody":                          {"127.0.0.1", nil, false},
		"a socket that was never checked": {"127.0.0.1", []listener{listen("127.0.0.1", 42)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := onlyOwned(netip.MustParseAddr(tc.addr), tc.all, owned); got != tc.want {
				t.Errorf("onlyOwned = %t; want %t", got, tc.want)
			}
		})
	}
}

func FuzzParseListeners(f *testing.F) {
	f.Add("   0: 0100007F:2808 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range parseListeners(text) {
			if !l.addr.IsValid() || l.addr.Is4In6() || l.port < 0 || l.port > 65535 {
				t.Errorf("listener %+v", l)
			}
		}
		if n := len(parseListeners(text)); n > strings.Count(text, "0A") {
			t.Errorf("%d listeners", n)
		}
	})
}
