package live

import (
	"slices"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/cri"
)

// TestEveryRuntimesLogIsFound: the journal is asked for its services, and its files are read.
func TestEveryRuntimesLogIsFound(t *testing.T) {
	units := runtimeUnits()
	for _, r := range cri.Runtimes() {
		for _, unit := range r.Units {
			if !slices.Contains(units, unit) {
				t.Errorf("the journal is not asked for %s", unit)
			}
		}
		for _, name := range r.LogFiles {
			sources, _ := Find(t.Context(), disk(t, entry{name, "line\n"}), FindOptions{})
			if !slices.ContainsFunc(sources, func(s logs.Source) bool { return s.Path == name && s.Origin == r.Process }) {
				t.Errorf("%s is not read: %+v", name, sources)
			}
		}
	}
}
