package logs

import "testing"

// TestApplications has lines of applications that say nothing of the node.
func TestApplications(t *testing.T) {
	for _, line := range []string{
		`ts=2026-05-12T10:00:02.118Z level=error msg="cannot send" err="write tcp 10.0.0.1:80->10.0.0.2:4711: write: transport endpoint is not connected"`,
		`ts=2026-05-12T10:00:02.118Z level=error msg="cannot send" err="write unix @->/run/x.sock: write: transport endpoint is not connected"`,
		`ts=2026-05-12T10:00:02.118Z level=error msg="accept" err="accept tcp [::]:80: accept4: too many open files"`,
		"2026-05-12T10:00:02.118Z\tERROR\tserver\tcannot accept\t" + `{"error": "accept tcp [::]:80: accept4: too many open files"}`,
		"2026-05-12T10:00:02.118Z\tERROR\tstore\torphaned pod \"" + uid1 + "\" found, but volume paths are still present on disk",
		`cp-b: user: warning: [2026-05-12T03:12:44.116205913Z]: [talos] PLEG is not healthy: pleg was last seen active 3m2s ago; threshold is 3m0s`,
		"2026-05-12T10:00:02.118Z\tinfo\tstore\tPLEG is not healthy: pleg was last seen active 3m2s ago; threshold is 3m0s",
	} {
		if o, ok := classify(entryOf(line, "")); ok {
			t.Errorf("%s: %s", line, o.Kind)
		}
	}
}
