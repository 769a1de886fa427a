package report

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// TestHowToCheckGoroutines has a kubelet that refuses its goroutines, read by others and by root.
func TestHowToCheckGoroutines(t *testing.T) {
	const memory = forensics.SourceGoroutines + ":memory of process 812"
	refused := forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceDenied, Detail: "401"}
	for name, tc := range map[string]struct {
		memory   forensics.SourceStatus
		unproven string
		want     string
	}{
		"not root":         {memory: forensics.SourceDenied, want: "Goroutines need root or --token-file (README)."},
		"not tried":        {want: "Goroutines need root or --token-file (README)."},
		"read":             {memory: forensics.SourceRead, want: ""},
		"lock held":        {memory: forensics.SourceTimeout, want: "The kubelet's memory could not be read: use --token-file (README)."},
		"no Go program":    {memory: forensics.SourceMalformed, want: "The kubelet's memory could not be read: use --token-file (README)."},
		"not the kubelet?": {memory: forensics.SourceDenied, unproven: "is in an unknown cgroup", want: "Goroutines were not read: the kubelet process could not be verified."},
	} {
		var r Report
		r.Evidence.Root, r.Evidence.Collector.PID = "/", 7
		r.Evidence.Kubelet = &kubelet.Instance{PID: 812, Unproven: tc.unproven}
		r.Evidence.Coverage = []forensics.Source{refused}
		if tc.memory != "" {
			r.Evidence.Coverage = append(r.Evidence.Coverage, forensics.Source{Source: memory, Status: tc.memory})
		}
		r.Coverage = r.Evidence.Coverage
		if got := howToCheck(r); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
