package report

import (
	"fmt"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// loopFacts are the facts about the sync loop.
func loopFacts(s *logs.Story, now time.Time) []fact {
	facts := factList{}
	l := s.Loop
	if l == nil {
		return facts
	}
	if w := newWhen(l.Last, now); w != nil {
		text := w.Text
		if w.Ago != "" {
			text += ", " + w.Ago + " before collection"
		}
		facts.add("Last line of the sync loop", text)
	}
	if l.OthersCount > 0 && l.OthersLast != nil {
		facts.add("Later lines of other components", grouped(l.OthersCount)+", the last at "+text.Moment(*l.OthersLast))
	}
	if l.Cadence > 0 {
		facts.add("Usual housekeeping interval", text.Duration(l.Cadence))
	}
	if len(l.Gaps) > 0 {
		facts.add("Longest earlier gap", fmt.Sprintf("%s from %s", text.Duration(l.Gaps[0].Seconds), text.Moment(l.Gaps[0].From)))
	}
	return facts
}

// orphanFacts sums up the log lines about orphaned pods.
func orphanFacts(s *logs.Story, now time.Time) []fact {
	facts, o := factList{}, s.Orphans
	if o == nil {
		return facts
	}
	facts.add("Pods named", grouped(o.Named))
	if o.Max > 0 {
		facts.add("Orphaned pods in the last summary", grouped(o.Last)+" (maximum "+grouped(o.Max)+")")
	}
	if o.Mounted > 0 {
		facts.add("With volumes still mounted", grouped(o.Mounted))
	}
	switch last := newWhen(o.Since, now); {
	case o.PodUID == "":
	case o.Rotates:
		facts.add("Last pod named", o.PodUID+"; the name changes, so pods come and go")
	case last != nil:
		facts.add("Last pod named", o.PodUID+", in every summary since "+last.Text)
	default:
		facts.add("Last pod named", o.PodUID)
	}
	return facts
}
