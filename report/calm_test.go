package report

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// TestADumpThatIsNoWholeOneIsNotClean: what is missing in a dump may be what hangs.
func TestADumpThatIsNoWholeOneIsNotClean(t *testing.T) {
	dump := func(ids ...int64) forensics.Dump {
		d := forensics.Dump{Dump: goroutines.Dump{Form: goroutines.FormDebug2}}
		for _, id := range ids {
			d.Goroutines = append(d.Goroutines, goroutines.Goroutine{ID: id, Count: 1, State: "select"})
		}
		return d
	}
	changed := func(d forensics.Dump, change func(*forensics.Dump)) forensics.Dump { change(&d); return d }
	cut := func(d *forensics.Dump) { d.Truncated = true }
	for name, tt := range map[string]struct {
		dump forensics.Dump
		want string
	}{
		"whole":                 {dump(1, 7), "clean"},
		"cut":                   {changed(dump(1, 7), cut), "incomplete"},
		"without its beginning": {dump(7, 8), "incomplete"},
		"large, with examples":  {changed(dump(7, 8), func(d *forensics.Dump) { d.Summed = 5000 }), "clean"},
		"aggregated":            {forensics.Dump{Dump: goroutines.Dump{Form: "debug1", Goroutines: []goroutines.Goroutine{{Count: 90}}}}, "clean"},
		"of another program":    {changed(dump(1, 7), func(d *forensics.Dump) { d.Program = "dockerd" }), "incomplete"},
		"of another program that runs": {changed(dump(7), func(d *forensics.Dump) {
			d.Program, d.PID, d.Truncated = "dockerd", 7, true
		}), "clean"},
		"of the kubelet, cut": {changed(dump(1), func(d *forensics.Dump) { d.Program, d.PID, d.Truncated = "kubelet", 7, true }), "incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Report{
				Outcomes: []forensics.Outcome{{Check: "kubelet-start-blocked", Status: forensics.OutcomeClean}},
				Evidence: forensics.Evidence{Dumps: []forensics.Dump{tt.dump}},
			}
			if got := newCalm(r); string(got.Mark.Word) != tt.want {
				t.Errorf("%s: %s", got.Mark.Word, got.Title)
			}
		})
	}
}

// TestErrorsThatAreNotRecognized: a text whose errors nobody knows is not called clean. A node always logs some.
func TestErrorsThatAreNotRecognized(t *testing.T) {
	story := &logs.Story{UnrecognizedErrors: []logs.UnrecognizedError{{Origin: "kubelet", Source: "a.go:7", Count: 3, Quote: logs.Quote{File: "log", Line: 4, Text: "E1120 odd \x1b[31m"}}}}
	r := Report{Outcomes: []forensics.Outcome{{Check: "kubelet-restarting", Status: forensics.OutcomeClean}}, Evidence: forensics.Evidence{Logs: story}}
	if got := newCalm(r); got.Mark.Word != "incomplete" || !strings.Contains(string(got.Text), "E1120 odd") || !strings.Contains(string(got.Text), "(3 lines)") || strings.Contains(string(got.Text), "\x1b") {
		t.Errorf("of a text: %+v", got)
	}
	if v := newLogsView(r, newPlaces()); len(v.Errors) != 1 || v.Errors[0].Source != "a.go:7" {
		t.Errorf("the page lists %+v", v.Errors)
	}
	r.Evidence.Collector.PID = 7
	if got := newCalm(r); got.Mark.Word != "clean" {
		t.Errorf("of a node: %+v", got)
	}
}
