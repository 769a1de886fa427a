package checks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// TestHealthyKubelet judges the dump of a kubelet 1.34.4 that is well, in its three forms.
func TestHealthyKubelet(t *testing.T) {
	for _, form := range []string{"debug2", "debug1", "debug0"} {
		t.Run(form, func(t *testing.T) {
			f, err := os.Open(filepath.Join("../../testdata/captures/kubelet-1.34.4-healthy", "goroutine."+form))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			e := forensics.NewEvidence()
			if e.Dumps, err = read.Dumps(form, f); err != nil {
				t.Fatal(err)
			}
			e.Cover(forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceRead})
			for _, finding := range forensics.Analyze(&e, All()).Findings {
				if finding.Severity.Rank() > forensics.Info.Rank() {
					t.Errorf("%s %s: %s", finding.Severity, finding.ID, finding.Title)
				}
			}
		})
	}
}
