package forensics_test

import (
	"encoding/json"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
)

// BenchmarkAnalyze judges a node with 3,000 FUSE mounts.
func BenchmarkAnalyze(b *testing.B) {
	for name, dead := range map[string]int{"100 of 3000 mounts dead": 100, "3000 of 3000 mounts dead": 3000} {
		b.Run(name, func(b *testing.B) {
			e := sickNode(b, dead, 3000-dead)
			for b.Loop() {
				a := forensics.Analyze(&e, checks.All())
				if len(a.Diagnoses) != dead {
					b.Fatalf("%d diagnoses, want %d", len(a.Diagnoses), dead)
				}
			}
		})
	}
}

// BenchmarkEvidenceJSON is what the child's frames and a report cost.
func BenchmarkEvidenceJSON(b *testing.B) {
	e := sickNode(b, 100, 2900)
	for b.Loop() {
		text, err := json.Marshal(e)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(text)))
	}
}
