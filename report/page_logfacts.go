package report

import (
	"fmt"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// loopFacts is what is known of the sync loop.
func loopFacts(s *logs.Story, now time.Time) []fact {
	facts := factList{}
	l := s.Loop
	if l == nil {
		return facts
	}
	if w := newWhen(l.Last, now); w != nil {
		text := w.Text
		if w.Ago != "" {
			text += ", " + w.Ago + " before the examination"
		}
		facts.add("Last line of the sync loop", text)
	}
	if l.OthersCount > 0 && l.OthersLast != nil {
		facts.add("Lines of other parts since", grouped(l.OthersCount)+", the last at "+text.Moment(*l.OthersLast))
	}
	if l.Cadence > 0 {
		facts.add("Housekeeping usually every", text.Duration(l.Cadence))
	}
	if len(l.Gaps) > 0 {
		facts.add("Longest silence before", fmt.Sprintf("%s from %s", text.Duration(l.Gaps[0].Seconds), text.Moment(l.Gaps[0].From)))
	}
	return facts
}

// orphanFacts is what the lines about orphaned pods say together.
func orphanFacts(s *logs.Story, now time.Time) []fact {
	facts, o := factList{}, s.Orphans
	if o == nil {
		return facts
	}
	facts.add("Different pods named", grouped(o.Named))
	if o.Max > 0 {
		facts.add("Orphans at the last count", grouped(o.Last)+", "+grouped(o.Max)+" at most")
	}
	if o.Mounted > 0 {
		facts.add("With volumes still mounted", grouped(o.Mounted))
	}
	switch last := newWhen(o.Since, now); {
	case o.PodUID == "":
	case o.Rotates:
		facts.add("Named last", o.PodUID+"; the name rotates, so that pods come and go")
	case last != nil:
		facts.add("Named last", o.PodUID+", in every summary since "+last.Text)
	default:
		facts.add("Named last", o.PodUID)
	}
	return facts
}
