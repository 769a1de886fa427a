package live

import (
	"runtime"
	"slices"
	"sync"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
)

// kept lists the holds that were there and are wanted.
func (r *resolver) kept() []holders.Holder {
	count := 0
	for _, p := range r.found {
		p.first = count
		for i := range p.holds {
			h := &p.holds[i]
			if !h.gone && r.keep != nil {
				holder := p.holder(h)
				h.gone = !r.keep(&holder)
			}
			if !h.gone {
				count++
			}
		}
	}
	list := slices.Grow(r.room, count)[:count]
	var all sync.WaitGroup
	for part := range slices.Chunk(r.found, len(r.found)/runtime.GOMAXPROCS(0)+1) {
		all.Go(func() {
			for _, p := range part {
				p.list(list[p.first:])
			}
		})
	}
	all.Wait()
	return list
}

// list writes what has not gone.
func (p *holdings) list(to []holders.Holder) {
	n := 0
	for i := range p.holds {
		if h := &p.holds[i]; !h.gone {
			to[n] = p.holder(h)
			n++
		}
	}
	p.holds = nil
}
