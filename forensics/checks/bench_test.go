package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// BenchmarkGoroutineChecks judges a dump of 20,000 goroutines that rest and 2,000 that stand still.
func BenchmarkGoroutineChecks(b *testing.B) {
	e := forensics.NewEvidence()
	addDump(b, &e, crowd(20_000, "resting", ", 9 minutes"), 9825)
	resting := e.Dumps[0].Goroutines
	addDump(b, &e, crowd(2_000, "other", ", 9 minutes"), 9825)
	e.Dumps[0].Goroutines = append(e.Dumps[0].Goroutines, resting...)
	e.Cover(forensics.Source{Source: forensics.SourceGoroutines, Status: forensics.SourceRead})
	for b.Loop() {
		if a := forensics.Analyze(&e, All()); len(a.Findings) == 0 {
			b.Fatal("nothing was found")
		}
	}
}
