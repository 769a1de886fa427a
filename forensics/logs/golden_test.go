package logs

import (
	"encoding/json"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/golden"
)

// TestGoldenStories has the whole story of each captured log.
func TestGoldenStories(t *testing.T) {
	for _, name := range []string{
		"kubelet-1.17.4-hung-cephfs", "kubelet-1.17.4-orphan-leftover", "kubelet-1.34.4-disk-pressure",
		"kubelet-1.34.4-hung-csi", "kubelet-1.34.4-runtime-stopped", "kubelet-1.34.4-unmount-busy",
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.MarshalIndent(captured(t, name), "", " ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "golden/"+name+".json", string(text)+"\n")
		})
	}
}
