package collect

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// The memory of a kubelet and the dump that it gives differ a little, since neither is of one moment.
func TestDumpsThatDiffer(t *testing.T) {
	whole := forensics.Dump{}
	truncated, summed := forensics.Dump{}, forensics.Dump{}
	truncated.Truncated, summed.Summed = true, 1
	for _, c := range []struct {
		name        string
		own, memory forensics.Dump
		same, of    int
		want        bool
	}{
		{"none waits for minutes", whole, whole, 0, 0, false},
		{"all are the same", whole, whole, 40, 40, false},
		{"a tenth differs", whole, whole, 36, 40, false},
		{"more than a tenth differs", whole, whole, 35, 40, true},
		{"two of a few differ", whole, whole, 3, 5, false},
		{"three of a few differ", whole, whole, 2, 5, true},
		{"its own dump is cut", truncated, whole, 0, 40, false},
		{"its own dump is summed up", summed, whole, 0, 40, false},
		{"the memory was read in part", whole, truncated, 0, 40, false},
		{"the memory is summed up", whole, summed, 0, 40, false},
	} {
		if got := differ(&c.own, &c.memory, c.same, c.of); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
