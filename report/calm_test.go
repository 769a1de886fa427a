package report

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
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
