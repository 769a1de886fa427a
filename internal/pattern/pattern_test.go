package pattern

import "testing"

func TestPattern(t *testing.T) {
	p := New(`^/proc/(\d+)$`)
	if m := p.FindStringSubmatch("/proc/4711"); len(m) != 2 || m[1] != "4711" || p.MatchString("/proc/self") {
		t.Errorf("%q", m)
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression is found only when it is used")
		}
	}()
	New(`(`)
}
