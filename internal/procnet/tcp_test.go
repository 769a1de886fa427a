package procnet_test

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/internal/procnet"
)

func TestListeners(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the texts below are of a little-endian machine")
	}
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	for name, tc := range map[string]struct {
		text string
		want []procnet.Listener
	}{
		"heading only": {head, nil},
		"loopback":     {head + "   0: 0100007F:2808 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0000000000000000 100 0 0 10 0\n", []procnet.Listener{{Addr: netip.MustParseAddr("127.0.0.1"), Port: 10248, Inode: 12345}}},
		"wildcard v6":  {head + "   0: 00000000000000000000000000000000:280A 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77 1 0 100 0 0 10 0\n", []procnet.Listener{{Addr: netip.IPv6Unspecified(), Port: 10250, Inode: 77}}},
		"loopback v6":  {"0: 00000000000000000000000001000000:280A 0:0 0A 0:0 0:0 0 0 0 77\n", []procnet.Listener{{Addr: netip.IPv6Loopback(), Port: 10250, Inode: 77}}},
		"mapped":       {"0: 0000000000000000FFFF00000100007F:280A 0:0 0A 0:0 0:0 0 0 0 77\n", []procnet.Listener{{Addr: netip.MustParseAddr("127.0.0.1"), Port: 10250, Inode: 77}}},
		"established":  {"0: 0100007F:2808 0100007F:9999 01 0:0 0:0 0 0 0 5\n", nil},
		"short line":   {"0: 0100007F:2808 0:0 0A\n", nil},
		"no address":   {"0: XX00007F:2808 0:0 0A 0:0 0:0 0 0 0 5\n0: 0100:2808 0:0 0A 0:0 0:0 0 0 0 5\n", nil},
		"no port":      {"0: 0100007F 0:0 0A 0:0 0:0 0 0 0 5\n", nil},
		"cut":          {"0: 0100007F:2808 0:0 0A 0:0 0:0 0 0 0 5\n0: 0100007F:28", []procnet.Listener{{Addr: netip.MustParseAddr("127.0.0.1"), Port: 10248, Inode: 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := procnet.Listeners(tc.text)
			if diff := cmp.Diff(tc.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("listeners (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzListeners(f *testing.F) {
	f.Add("   0: 0100007F:2808 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range procnet.Listeners(text) {
			if !l.Addr.IsValid() || l.Addr.Is4In6() || l.Port < 0 || l.Port > 65535 {
				t.Errorf("listener %+v", l)
			}
		}
		if n := len(procnet.Listeners(text)); n > strings.Count(text, "0A") {
			t.Errorf("%d listeners", n)
		}
	})
}
