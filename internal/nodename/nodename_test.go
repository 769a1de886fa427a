package nodename

import "testing"

func TestSame(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"node-1", "node-1", true},
		{"Node-1", "node-1.", true},
		{"node-1", "node-1.example.com", true},
		{"ip-10-0-0-1", "ip-10-0-0-1.ec2.internal", true},
		{"node-1.a.example", "node-1.b.example", false}, // two clusters
		{"node-1", "node-2", false},
		{"node-1", "node-10", false},
		{"10.0.0.1", "10.0.0.1", true},
		{"10.0.0.1", "10", false}, // an address has no domain
		{"10.0.0.1", "10.0.0.2", false},
	} {
		if Same(tt.a, tt.b) != tt.want || Same(tt.b, tt.a) != tt.want {
			t.Errorf("%s and %s: want %v", tt.a, tt.b, tt.want)
		}
	}
}

func TestIs(t *testing.T) {
	for name, want := range map[string]bool{
		"node-1": true, "NODE": false, "ip-10-0-0-1.ec2.internal": true, "10.0.0.1": true, "fe80::1": true, "xe1": true,
		"": false, "-": false, "localhost": false, "xxx": false, "xxx-xx": false, "***": false, "<host>": false, "(none)": false, "a b": false,
	} {
		if Is(name) != want {
			t.Errorf("%q: want %v", name, want)
		}
	}
}
