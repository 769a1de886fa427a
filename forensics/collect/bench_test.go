package collect_test

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/collect"
)

// BenchmarkCollect examines this machine without probing, since what is mounted here may be dead.
func BenchmarkCollect(b *testing.B) {
	for b.Loop() {
		if _, err := collect.Collect(b.Context(), collect.Options{NoProbe: true}); err != nil {
			b.Fatal(err)
		}
	}
}
