package procfd

import "testing"

func TestBareName(t *testing.T) {
	for name, want := range map[string]bool{
		"a b": true, "LOG.txt": true, "": false, "<none>": false, "UNIX-STREAM": false, "UDPv6": false, "[eventfd]": false,
		"pipe:[48474872]": false, "anon_inode:[eventfd]": false,
	} {
		if got := isBareName(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
