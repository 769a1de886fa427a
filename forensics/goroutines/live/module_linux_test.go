package live

import "testing"

// TestBuildVersion has the magic bytes of build information at odd places and with nonsense behind them, as in a program that has them as text.
func TestBuildVersion(t *testing.T) {
	info := func(version string) []byte {
		head := append(append([]byte{}, buildInfo...), make([]byte, 32-len(buildInfo))...)
		head[15] = 2
		return append(append(append(head, byte(len(version))), version...), make([]byte, 64)...)
	}
	odd := append([]byte("odd"), buildInfo...)
	for len(odd)%8 != 0 {
		odd = append(odd, 0)
	}
	endless := info("")
	endless[32], endless[33] = 0xff, 0x7f // longer than what there is
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"alone":                      {info("go1.26.1"), "go1.26.1"},
		"after one at an odd place":  {append(odd, info("go1.26.1")...), "go1.26.1"},
		"after one that is too long": {append(endless, append(make([]byte, -len(endless)&7), info("go1.26.1")...)...), "go1.26.1"},
		"none":                       {make([]byte, 256), ""},
		"only the magic bytes":       {buildInfo, ""},
	} {
		if got := new(memory).buildVersion(tt.data); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
