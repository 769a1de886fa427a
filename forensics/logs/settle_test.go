package logs

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// TestSettle finds the year and the zone of lines that have none in the messages of the log.
func TestSettle(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	retry := func(until string) string {
		return `E0728 16:23:19.000001    2588 nestedpendingoperations.go:301] Operation for "x" failed. No retries permitted until ` + until + ` (durationBeforeRetry 2m2s). Error: "y"` + "\n"
	}
	const plain = "I0728 16:20:00.000001    2588 server.go:416] Version: v1.17.4\n"
	tests := []struct {
		name, text, first, said string
		zone                    *time.Location
	}{
		{"year and zone", plain + retry("2021-07-28 16:25:21.5 +0800 CST m=+7.5"), "2021-07-28T08:20:00Z", "time zone is inferred from times in the messages", nil},
		{"in UTC", plain + retry("2021-07-28 16:25:21 +0000 UTC m=+7.5"), "2021-07-28T16:20:00Z", "year is inferred from times in the messages", nil},
		{"another zone than that of the reader", plain + retry("2021-07-28 16:25:21 +0800 CST"), "2021-07-28T08:20:00Z", "the lines have none, UTC+08:00 is assumed", time.FixedZone("+02", 7200)},
		{"the same zone, which knows more", plain + retry("2021-07-28 16:25:21 +0800 CST"), "2021-07-28T08:20:00Z", "the lines have none, Here is assumed", time.FixedZone("Here", 28800)},
		{"near miss: a time that the line's clock contradicts", plain + retry("2021-03-01 16:25:21 +0800 CST"), "2026-07-28T16:20:00Z", "the year is inferred: the lines have none", nil},
		{"near miss: no time at all", plain + retry("later"), "2026-07-28T16:20:00Z", "the year is inferred: the lines have none", nil},
		{"the year of lines of containerd", "Jul 28 16:20:00 node-1 kubelet[2588]: " + plain + `Jul 28 16:24:00 node-1 containerd[700]: time="2021-07-28T16:24:00.1Z" level=info msg="x"` + "\n", "2021-07-28T16:20:00Z", "year is inferred from times in the messages", nil},
		{"the zone of lines of containerd", "Jul 28 16:20:00 node-1 kubelet[2588]: " + plain + `Jul 28 16:24:00 node-1 containerd[700]: time="2021-07-28T16:24:00.1+03:00" level=info msg="x"` + "\n", "2021-07-28T13:20:00Z", "UTC+03:00 is assumed", nil},
		{"near miss: lines of containerd that another time contradicts", "Jul 28 16:20:00 node-1 kubelet[2588]: " + plain + `Jul 28 16:24:00 node-1 containerd[700]: time="2021-07-28T16:20:00.1+03:00" level=info msg="x"` + "\n", "2021-07-28T16:20:00Z", "year is inferred from times in the messages", nil},
		{"a log of this year", strings.ReplaceAll(plain, "0728", "1120"), "2026-11-20T16:20:00Z", "the year is inferred: the lines have none", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			opt := Options{Now: now, Zone: test.zone}
			story := Read(context.Background(), []Source{{Path: "log", Open: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(test.text)), nil
			}}}, opt)
			f := story.Files[0]
			if f.First == nil || f.First.Format(time.RFC3339) != test.first || !strings.Contains(f.Detail, test.said) {
				t.Errorf("first %v, detail %q; want %s, %q", f.First, f.Detail, test.first, test.said)
			}
			if at := firstTime(strings.NewReader(test.text), opt); at.UTC().Format(time.RFC3339) != test.first {
				t.Errorf("firstTime: %v, want %s", at, test.first)
			}
		})
	}
}
