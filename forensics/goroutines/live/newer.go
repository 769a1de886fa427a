package live

import (
	"fmt"
	"strings"
)

// A version of Go that is newer than all that are known is read as the newest one that is. What of it may be otherwise is not believed
// without a second sign.

// fits is an error where the goroutines of a program cannot be unwound with the layout that its version has, or is taken to have: of a
// version that is known, none of the first ones that wait; of another one, more than a quarter of them, or not what is
// inlined there.
func (p *program) fits(addrs []uint64) error {
	good, all := 0, 0
	for _, addr := range addrs[:min(len(addrs), 64)] {
		if x, ok, _ := p.readG(addr); ok && x.status == statusWaiting {
			all++
			if list, whole := p.stack(x); whole {
				p.visible(list)
				good++
			}
		}
	}
	switch {
	case p.minor > newest() && (good == 0 || good*4 < all*3 || p.odd):
		return fmt.Errorf("%s is newer than what is known here, and has another layout", p.version)
	case all > 0 && good == 0:
		return fmt.Errorf("no stack can be unwound with the layout of %s", p.version)
	}
	return nil
}

// waitsIn are the functions of the runtime in which goroutines wait, and how the reasons begin that they give for it, with bars between.
var waitsIn = map[string]string{
	"runtime.chanrecv": "chan receive", "runtime.chansend": "chan send", "runtime.selectgo": "select", "runtime.block": "select",
	"runtime.netpollblock": "IO wait", "time.Sleep": "sleep", "runtime.semacquire1": "semacquire|sync.", "sync.runtime_notifyListWait": "sync.Cond.Wait",
}

// confirmed says whether the reason of a wait is one that the innermost functions give. The numbers of the reasons change with versions.
func (p *program) confirmed(reason string, list []*place) bool {
	if p.minor <= newest() {
		return true
	}
	for _, at := range list[:min(len(list), 4)] {
		for start := range strings.SplitSeq(waitsIn[at.f.name], "|") {
			if start != "" && strings.HasPrefix(reason, start) {
				return true
			}
		}
	}
	return false
}
