package logview

import (
	"testing"
	"time"
)

// TestSaidAtTheEndOfALog is beside and at the limit. What was said after the kubelet's last line, such as by the kernel,
// stands as well.
func TestSaidAtTheEndOfALog(t *testing.T) {
	end := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for before, want := range map[time.Duration]bool{
		-time.Hour: true, 0: true, endOfLog: true, endOfLog + time.Nanosecond: false, time.Hour: false,
	} {
		if last := end.Add(-before); Within(&last, &end, endOfLog) != want {
			t.Errorf("%v before the end: %t", before, !want)
		}
	}
	if !Within(nil, &end, endOfLog) {
		t.Error("a line without a time is over")
	}
	if Within(&end, nil, endOfLog) {
		t.Error("a time stands in a log without an end")
	}
}
