package logs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/golden"
)

// TestGoldenExamples has all that is taken from each line that is known.
func TestGoldenExamples(t *testing.T) {
	var b strings.Builder
	for _, ex := range allExamples() {
		e := entryOf(ex.line, ex.origin)
		o, ok := classify(e)
		if !ok {
			t.Fatalf("not known: %s", ex.line)
		}
		subject, err := json.Marshal(o.Subject)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n  %s -v%d %v %s\n", strings.TrimSpace(ex.line), o.Kind, o.level, o.Number, subject)
		fmt.Fprintf(&b, "  %s %s %q %d %s:%d %q %q\n", e.Time.Format(time.RFC3339Nano), e.Origin, e.Severity, e.PID, e.Source, e.SourceLine, e.Message, e.Fields)
	}
	golden.Check(t, "golden/examples.txt", b.String())
}

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
