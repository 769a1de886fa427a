package collect_test

import (
	"slices"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
)

// only is the one check of an ID.
func only(t *testing.T, id string) []forensics.Check {
	t.Helper()
	all := checks.All()
	at := slices.IndexFunc(all, func(c forensics.Check) bool { return c.ID == id })
	if at < 0 {
		t.Fatalf("no check %s", id)
	}
	return all[at : at+1]
}
