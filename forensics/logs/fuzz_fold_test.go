package logs

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever lines say, the story is bounded, valid and in order.
func FuzzFold(f *testing.F) {
	for _, ex := range allExamples(f) {
		f.Add(ex.line, ex.origin)
	}
	f.Add(ids(strings.Join(newFlow, "\n")), "kubelet")
	f.Fuzz(func(t *testing.T, text, origin string) {
		folder := newFolder()
		p := &lineParser{origin: origin, latest: testNow, zone: testNow.Location()}
		for range 2 {
			for line := range strings.Lines(text) {
				e, _ := p.parse(line)
				if o, ok := classify(&e); ok {
					if len(o.Reason) > maxReason+8 {
						t.Errorf("reason of %d bytes", len(o.Reason))
					}
					folder.add("f", o)
				} else {
					folder.seen("log", &e)
				}
			}
		}
		s := folder.story(nil)
		if len(s.Events) > maxEvents+maxEventsOfKind || len(s.Deletions) > maxDeletions || len(s.Lives) > maxLives {
			t.Errorf("%d events, %d deletions, %d lives", len(s.Events), len(s.Deletions), len(s.Lives))
		}
		for _, e := range s.Events {
			if e.Count < 1 || len(e.Quotes) < 1 || len(e.Quotes) > 3 {
				t.Errorf("event %+v", e)
			}
			if e.First != nil && e.Last.Before(*e.First) {
				t.Errorf("%s ends before it begins", e.Kind)
			}
			for _, q := range e.Quotes {
				if len(q.Text) > maxQuoteText+8 || !utf8.ValidString(q.Text) {
					t.Errorf("quote %q", q.Text)
				}
			}
			if !utf8.ValidString(e.Reason) {
				t.Errorf("reason %q", e.Reason)
			}
		}
		for _, d := range s.Deletions {
			for i := 1; i < len(d.Steps); i++ {
				if stageRank(d.Steps[i].Stage) <= stageRank(d.Steps[i-1].Stage) {
					t.Errorf("steps %q", stagesOf(d))
				}
			}
			if d.Done && d.Waits != "" {
				t.Errorf("done, and waits for %q", d.Waits)
			}
		}
		if _, err := json.Marshal(s); err != nil {
			t.Error(err)
		}
	})
}
