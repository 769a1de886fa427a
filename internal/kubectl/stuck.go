package kubectl

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// StuckTerminating is the reason of the event of a pod that a table shows in Terminating, and of which somebody says that it stays so. The API has
// no such event: the table does not tell when the pod was deleted.
const StuckTerminating = "StuckTerminating"

// saysStuck is a sentence about pods that stay in Terminating.
var saysStuck = pattern.New(`(?i)\b(?:stuck|stays?|stayed|remains?|hangs?|hung|hanging|sits?|sitting|never (?:ends?|goes?|leaves?|finish\w*))\b[^.]{0,60}\bterminati\w+` +
	`|\bterminati\w+[^.]{0,60}\b(?:forever|for (?:hours|days|weeks|ages|a long|more than|over|about|the last|\d+ ?(?:h|d|m)\w*)|stuck|never|endless\w*|indefinite\w*)\b` +
	`|(?:not|n't|never) (?:get out of|come out of|leave) terminati\w+` +
	`|卡.{0,12}Terminating|Terminating.{0,12}卡`)

// mayWait is of a pod whose grace period is shown: it may be a long one, and not over.
var mayWait = pattern.New(`(?i)grace|timeout: \d{3,}s`)

// lastsAlone is the status of a pod in a description from which its name was cut.
var lastsAlone = pattern.New(`^Status:\s+Terminating \(lasts (\S+)\)\s*$`)

// stuck adds the events of pods that somebody says are stuck in Terminating, above a table in which they are, and none below in which they are not.
func (p *page) stuck() {
	const young = 2 * time.Minute // for which a pod terminates as others do
	if !slices.ContainsFunc(p.lines, mayWait.MatchString) {
		for i, line := range p.lines {
			if strings.HasPrefix(line, "Name:") {
				break
			}
			if m := lastsAlone.FindStringSubmatch(line); m != nil && length(m[1]) > young {
				p.saidStuck(i, "", "unnamed", "the pod terminates for "+m[1])
				return
			}
		}
	}
	if len(p.rows) == 0 || slices.ContainsFunc(p.lines, mayWait.MatchString) || !slices.ContainsFunc(p.lines, saysStuck.MatchString) && !p.allStuck() {
		return
	}
	last := map[string]int{}
	for i := range p.rows {
		if row := &p.rows[i]; row.kind == "Pod" {
			last[row.namespace+"/"+row.name] = i
		}
	}
	for i := range p.rows {
		row := &p.rows[i]
		if last[row.namespace+"/"+row.name] != i || row.kind != "Pod" || row.value("Status") != "Terminating" || row.value("Age") != "" && length(row.value("Age")) < young {
			continue
		}
		p.saidStuck(row.line, row.namespace, row.name, "a table shows the pod in Terminating, and the text says that it stays so")
	}
}

// allStuck says whether a text shows nothing but a crowd of pods in Terminating, none of which is young: people paste no other table of them.
func (p *page) allStuck() bool {
	const crowd = 6
	return len(p.rows) >= crowd && !slices.ContainsFunc(p.rows, func(d described) bool {
		return d.kind != "Pod" || d.value("Status") != "Terminating" || length(d.value("Age")) < time.Hour
	})
}

//go:noinline
func (p *page) saidStuck(line int, namespace, name, message string) {
	e := Event{Type: "Warning", Reason: StuckTerminating, Kind: "Pod", Namespace: namespace, Name: name, Count: 1, Message: message}
	p.events = append(p.events, found{e, line, -1, ""})
}
