package forensics_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

func TestLatestDumps(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	later := at.Add(5 * time.Second)
	dump := func(source string, pid int, taken *time.Time, form goroutines.Form, truncated bool) forensics.Dump {
		return forensics.Dump{Source: source, PID: pid, Taken: taken, Dump: goroutines.Dump{Form: form, Truncated: truncated}}
	}
	const url = "https://10.0.0.7:10250/debug/pprof/goroutine?debug="
	for _, tt := range []struct {
		name  string
		dumps []forensics.Dump
		want  []int
	}{
		{"files are each of its own", []forensics.Dump{dump("a", 0, nil, goroutines.FormDebug2, false), dump("a", 0, nil, goroutines.FormDebug2, false)}, []int{0, 1}},
		{"the later one of a process", []forensics.Dump{dump(url, 7, &at, goroutines.FormDebug2, false), dump(url, 7, &later, goroutines.FormDebug2, false)}, []int{1}},
		{"of any order", []forensics.Dump{dump(url, 7, &later, goroutines.FormDebug2, false), dump(url, 7, &at, goroutines.FormDebug2, false)}, []int{0}},
		{"two processes", []forensics.Dump{dump(url, 7, &at, goroutines.FormDebug2, false), dump(url, 8, &later, goroutines.FormDebug2, false)}, []int{0, 1}},
		{"a whole one before a later one that is cut", []forensics.Dump{dump(url, 7, &at, goroutines.FormDebug2, false), dump(url, 7, &later, goroutines.FormDebug2, true)}, []int{0}},
		{"states before an aggregated one, which is later", []forensics.Dump{dump(url, 7, &at, goroutines.FormDebug2, false), dump(url, 7, &later, goroutines.Form("debug0"), false)}, []int{0}},
		{"an aggregated one where there is no other", []forensics.Dump{dump(url, 7, &at, goroutines.Form("debug0"), false)}, []int{0}},
		{"a kubelet on another machine", []forensics.Dump{dump(url+"2", 0, &at, goroutines.FormDebug2, false), dump(url+"0", 0, &at, goroutines.Form("debug0"), false), dump(url+"2", 0, &later, goroutines.FormDebug2, false)}, []int{2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := forensics.NewEvidence()
			e.Dumps = tt.dumps
			if got := forensics.NewModel(&e).LatestDumps(); !slices.Equal(got, tt.want) {
				t.Errorf("LatestDumps() = %v, want %v", got, tt.want)
			}
		})
	}
}
