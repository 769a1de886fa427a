package logs

import (
	"strconv"
	"testing"
)

// Pods are counted up to a limit, each once.
func TestOrphansAreCountedToALimit(t *testing.T) {
	pods := map[podHash]struct{}{}
	for i := range maxOrphansCount + 2 {
		name(pods, strconv.Itoa(i))
		name(pods, "0")
	}
	if len(pods) != maxOrphansCount {
		t.Errorf("%d pods, want %d", len(pods), maxOrphansCount)
	}
}
