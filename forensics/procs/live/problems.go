package live

import (
	"errors"
	"fmt"
	"slices"
)

// problems collects errors by what they are about, so that a thousand processes that may not be read make one.
type problems struct {
	order []string
	first map[string]error
	count map[string]int
}

func (p *problems) add(what string, err error) {
	if p.first == nil {
		p.first, p.count = map[string]error{}, map[string]int{}
	}
	if p.count[what]++; p.count[what] == 1 {
		p.first[what] = err
		if errors.Is(err, errNoAnswer) {
			p.order = slices.Insert(p.order, 0, what) // readers are shown the first, and this is worse than what was cut
		} else {
			p.order = append(p.order, what)
		}
	}
}

func (p *problems) list() []error {
	list := make([]error, 0, len(p.order))
	for _, what := range p.order {
		if n := p.count[what]; n > 1 {
			list = append(list, fmt.Errorf("%s: %d times, first %w", what, n, p.first[what]))
		} else {
			list = append(list, fmt.Errorf("%s: %w", what, p.first[what]))
		}
	}
	return list
}

// take adds the problems of another pass.
func (p *problems) take(other *problems) {
	for _, what := range other.order {
		before := p.count[what]
		p.add(what, other.first[what])
		p.count[what] = before + other.count[what]
	}
}
