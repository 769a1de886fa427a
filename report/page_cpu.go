package report

import (
	"cmp"
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// cpuView is the kubelet's CPU profile.
type cpuView struct {
	Facts []fact
	Flame *flame
	// Top are the functions in which most of the time was spent, themselves and not in what they call.
	Top []fact
}

func newCPUView(p *goroutines.CPUProfile) *cpuView {
	if p == nil {
		return nil
	}
	room := budget(budgetFlame)
	return &cpuView{
		Facts: []fact{
			{"Source", cell(p.Source, 300)},
			{"Duration", shown(text.Duration(p.Seconds))},
			{"CPU time", shown(text.Duration(p.CPUSeconds))},
		},
		Flame: newCPUFlame(p, &room),
		Top:   heaviest(p),
	}
}

// heaviest lists the innermost functions by their own time.
func heaviest(p *goroutines.CPUProfile) []fact {
	const most = 10
	own := map[string]float64{}
	var names []string
	for _, s := range p.Stacks {
		if len(s.Frames) == 0 {
			continue
		}
		if _, ok := own[s.Frames[0]]; !ok {
			names = append(names, s.Frames[0])
		}
		own[s.Frames[0]] += s.Seconds
	}
	sorting.Stable(names, func(a, b string) int { return cmp.Compare(own[b], own[a]) })
	var top []fact
	for _, name := range names[:min(len(names), most)] {
		top = append(top, fact{cell(name, 200), shown(fmt.Sprintf("%.0f ms", own[name]*1000))})
	}
	return top
}
