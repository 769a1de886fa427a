package forensics_test

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

func TestWhatRestsOnTheSyslogAloneIsNotCertain(t *testing.T) {
	e := forensics.NewEvidence()
	e.Cover(forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead})
	e.Logs = &logs.Story{Files: []logs.File{
		{Path: "/var/log/syslog", Origin: "mixed", AnyWriter: true, Status: "read"},
		{Path: "/var/log/syslog.1", Origin: "mixed", Status: "read"},
	}}
	for _, c := range []struct {
		name string
		refs []string
		want forensics.Confidence
	}{
		{"lines of the syslog", []string{"logs:/var/log/syslog:7", "logs:/var/log/syslog"}, forensics.Likely},
		{"and one of another log", []string{"logs:/var/log/syslog:7", "logs:journal:kubelet"}, forensics.Certain},
		{"of a file whose name goes on", []string{"logs:/var/log/syslog.1:7"}, forensics.Certain},
		{"a mount", []string{"mounts:59"}, forensics.Certain},
		{"nothing", nil, forensics.Certain},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := forensics.Finding{Severity: forensics.Warning, Title: "t", Confidence: forensics.Certain, ConfidenceWhy: "the log says so"}
			for _, source := range c.refs {
				f.Refs = append(f.Refs, forensics.Ref{Source: source})
			}
			got := forensics.Analyze(&e, []forensics.Check{report("said", f)}).Findings[0]
			if got.Confidence != c.want {
				t.Errorf("%s (%s), want %s", got.Confidence, got.ConfidenceWhy, c.want)
			}
			if from := strings.Contains(got.ConfidenceWhy, "any local process"); from != (c.want == forensics.Likely) {
				t.Errorf("why: %q", got.ConfidenceWhy)
			}
		})
	}
}
