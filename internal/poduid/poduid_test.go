package poduid_test

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/poduid"
)

func TestValid(t *testing.T) {
	for text, want := range map[string]bool{
		"002d97dc-e398-4e34-b510-38f52354ad29":   true,
		"2fa11937efabc40db85278b553e1ceeb":       true,
		"002D97DC-E398-4E34-B510-38F52354AD29":   false,
		"002d97dce3984e34-b510-38f52354ad29":     false,
		"002d97dc-e398-4e34-b510-38f52354ad29\n": false,
		"2fa11937efabc40db85278b553e1ceeb0":      false,
		"x2fa11937efabc40db85278b553e1ceeb":      false,
		"":                                       false,
	} {
		if poduid.Valid(text) != want {
			t.Errorf("Valid(%q) = %t", text, !want)
		}
	}
}
