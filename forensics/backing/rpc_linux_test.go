package backing

import "testing"

// TestParseTransport has the states of a transport (net/sunrpc/sysfs.c, include/linux/sunrpc/xprt.h): bit 1 is connected, bit 2 connecting.
func TestParseTransport(t *testing.T) {
	for state, want := range map[string]string{"0x12": "connected", "0x16": "connected", "0x14": "connecting", "0x10": "closed"} {
		c, ok := parseTransport([]byte("netid: tcp\naddr:  10.9.0.2\nport:  2049\nstate: " + state + "\n"))
		if !ok || c.transport != want || c.server != "10.9.0.2 2049" {
			t.Errorf("state %s: %+v, %t; want %s", state, c, ok, want)
		}
	}
	if c, ok := parseTransport([]byte("netid: tcp\naddr:  10.9.0.2\n")); ok {
		t.Errorf("a cut file: %+v", c)
	}
}
