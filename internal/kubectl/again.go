package kubectl

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// listedAgain drops the rows of events that a later table lists again as older: ages count from when a table was printed, which only the last one
// tells.
func (p *page) listedAgain() {
	type key struct{ reason, message, component, name string }
	last := map[key]found{}
	for _, e := range slices.Backward(p.events) {
		k := key{e.Reason, e.Message, e.Component, e.Name}
		if _, ok := last[k]; !ok && e.condition == "" && !e.First.IsZero() {
			last[k] = e
		}
	}
	p.events = sorting.Delete(p.events, func(e found) bool {
		again, ok := last[key{e.Reason, e.Message, e.Component, e.Name}]
		return ok && p.aged && again.line > e.line && again.First.Before(e.First) && again.Count >= e.Count &&
			slices.ContainsFunc(p.lines[e.line:again.line], func(line string) bool { return heading.MatchString(line) || spoken.MatchString(line) })
	})
}

// spoken is how a line of a chat begins, with its time.
var spoken = pattern.New(`^[> \t]*\[?\d\d:\d\d(?::\d\d)?[\] ]`)
