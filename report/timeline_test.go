package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

func clock(minutes, seconds int) *time.Time {
	t := time.Date(2026, 11, 20, 10, minutes, seconds, 0, time.UTC)
	return &t
}

func quoteAt(line int64, text string) logs.Quote {
	return logs.Quote{File: "kubelet.log", Line: line, Text: text}
}

func event(kind logs.Kind, count int64, from, to *time.Time, line int64) logs.Event {
	return logs.Event{Kind: kind, Origin: "kubelet", Count: count, First: from, Last: to, Quotes: []logs.Quote{quoteAt(line, string(kind))}}
}

// TestTimeline puts a story into lanes: spans, events, what is still open, and what a diagnosis rests on.
func TestTimeline(t *testing.T) {
	e := forensics.NewEvidence()
	last := quoteAt(7, "SyncLoop (housekeeping)")
	kernel := event(logs.KindKernelNFSDown, 3, clock(0, 5), clock(9, 0), 70)
	kernel.Origin, kernel.Server = "kernel", "10.0.0.5"
	e.Logs = &logs.Story{
		Last:  clock(12, 0),
		Lives: []logs.Life{{PID: 1, Version: "v1.17.4", Started: clock(0, 0), Last: clock(12, 0), End: "running"}},
		Loop: &logs.Loop{
			Last: clock(0, 10), Quote: &last, OthersLast: clock(12, 0), OthersCount: 900, Cadence: 2,
			LastSeen: map[string]time.Time{"housekeeping": *clock(0, 10)},
			Gaps:     []logs.Gap{{From: *clock(0, 1), Seconds: 2}},
		},
		Deletions: []logs.Deletion{{
			PodName: "default/db", PodUID: "u", Stage: "volumes", Waits: "volume data", Complaints: []logs.Quote{quoteAt(30, "busy")},
			Steps: []logs.Step{{Stage: "requested", Time: *clock(0, 2), Quote: quoteAt(20, "DELETE")}, {Stage: "volumes", Time: *clock(0, 8), Quote: quoteAt(21, "volumes")}},
		}},
		Operations: []logs.Operation{{Name: "UnmountVolume", Subject: logs.Subject{Volume: "data", PodUID: "u"}, Started: clock(0, 9)}},
		Events: []logs.Event{
			kernel, event("syncloop-delete", 1, clock(0, 2), clock(0, 2), 20), event(logs.KindEvictionCritical, 40, clock(1, 0), clock(11, 0), 50),
			event(logs.KindPLEGRelistFailed, 2, clock(2, 0), clock(4, 0), 60),
			{Kind: logs.KindOrphan, Count: 3},
		},
	}
	a := forensics.Analysis{
		Findings:  []forensics.Finding{{Refs: []forensics.Ref{forensics.LogRef(last)}}},
		Diagnoses: []forensics.Diagnosis{{Title: "the loop hangs", Since: clock(0, 10), Findings: []int{0}}, {Title: "long before", Since: clock(-30, 0), Findings: []int{}}},
	}
	low := *e.Logs
	low.Loop = &logs.Loop{Last: clock(0, 10), OthersLast: clock(12, 0), OthersCount: 900, Gaps: e.Logs.Loop.Gaps}
	if m := newTimeline(&forensics.Evidence{Logs: &low}, &a).Lanes[0].Events; len(m) != 2 || m[1].Open {
		t.Errorf("a log that does not show housekeeping proves no silence: %+v", m)
	}
	line := newTimeline(&e, &a)
	var got []string
	for _, lane := range line.Lanes {
		for _, m := range lane.Events {
			state := ""
			if m.Open {
				state += " open"
			}
			if m.Marked {
				state += " marked"
			}
			got = append(got, fmt.Sprintf("%s %s-%s %dx%s %s", lane.ID, m.From.Format("04:05"), m.To.Format("04:05"), m.Count, state, m.Text))
		}
	}
	want := []string{
		"syncloop 00:00-00:00 0x kubelet 1.17.4 (pid 1) started",
		"syncloop 00:01-00:03 0x no line of the sync loop for 2 s",
		"syncloop 00:10-12:00 0x open marked no more lines of the sync loop, 900 lines of other kubelet components",
		"deletions 00:02-12:00 2x open pod default/db stuck in deletion at stage volumes: waits for volume data",
		"volumes 00:09-12:00 1x open UnmountVolume of data started and has not returned",
		"disk 01:00-11:00 40x a critical pod cannot be evicted, 40 times",
		"runtime 02:00-04:00 2x the PLEG cannot list the containers, 2 times",
		"kernel 00:05-09:00 3x NFS server does not respond: 10.0.0.5, 3 times",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !line.From.Equal(*clock(0, 0)) || !line.To.Equal(*clock(12, 0)) {
		t.Errorf("axis from %v to %v", line.From, line.To)
	}
	if len(line.Marks) != 1 || line.Marks[0].Text != "the loop hangs" {
		t.Errorf("marks = %+v; want the one within the axis", line.Marks)
	}
}

// TestTimelineIsBounded has more events than a lane holds: they are folded, and nothing is lost from the count.
func TestTimelineIsBounded(t *testing.T) {
	e := forensics.NewEvidence()
	e.Logs = &logs.Story{}
	const n = 5000
	for i := range n {
		e.Logs.Events = append(e.Logs.Events, event(logs.KindOrphan, 2, clock(0, i), clock(1, i), int64(i+1)))
	}
	quote := e.Logs.Events[77].Quotes[0]
	a := forensics.Analysis{
		Findings: []forensics.Finding{{Refs: []forensics.Ref{forensics.LogRef(quote)}}}, Diagnoses: []forensics.Diagnosis{{Findings: []int{0}}},
	}
	lanes := newTimeline(&e, &a).Lanes
	if len(lanes) != 1 || len(lanes[0].Events) > maxEvents {
		t.Fatalf("%d lanes, the first with %d events", len(lanes), len(lanes[0].Events))
	}
	count, marked := lanes[0].Omitted, 0
	for _, m := range lanes[0].Events {
		count += m.Count
		if m.Marked {
			marked++
		}
	}
	if count != 2*n || marked != 1 {
		t.Errorf("%d messages and %d marked events are told; want %d and 1", count, marked, 2*n)
	}
	if text := lanes[0].Events[0].Text; !strings.Contains(text, "4999 subjects") {
		t.Errorf("the fold says %q", text)
	}
}

// TestMomentsOfManyKinds leaves out what was said least, and says how much that was.
func TestMomentsOfManyKinds(t *testing.T) {
	var list []timelineEvent
	for i := range 2 * maxEvents {
		from := *clock(i, 0)
		list = append(list, timelineEvent{From: from, To: from, Kind: logs.Kind(fmt.Sprintf("kernel-%d", i)), Count: int64(i + 1)})
	}
	shown, omitted := bounded(list)
	if len(shown) != maxEvents || omitted != 40*41/2 {
		t.Errorf("%d events, %d messages omitted; want %d and %d", len(shown), omitted, maxEvents, 40*41/2)
	}
	for i := 1; i < len(shown); i++ {
		if shown[i].From.Before(shown[i-1].From) {
			t.Errorf("event %d is out of order", i)
		}
	}
}

// TestTimelineWithoutLogs has no lanes, and arrays that are not null.
func TestTimelineWithoutLogs(t *testing.T) {
	e := forensics.NewEvidence()
	line := newTimeline(&e, &forensics.Analysis{})
	if line.Lanes == nil || line.Marks == nil || len(line.Lanes) != 0 {
		t.Errorf("timeline = %+v", line)
	}
}
