package logs

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// savedLog is a log that was saved at a time.
type savedLog struct {
	*bytes.Reader
	saved time.Time
}

func (savedLog) Close() error         { return nil }
func (l savedLog) ModTime() time.Time { return l.saved }

// TestYearsOfOtherFiles takes the year and the zone that the lines of a log lack from other logs of its node.
func TestYearsOfOtherFiles(t *testing.T) {
	saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const (
		own    = `0728 16:20:00.000001    2588 kubelet_node_status.go:72] Successfully registered node `
		plain  = "I" + own + "worker-1\n"
		inJSON = `{"log":"level=info\n","stream":"stderr","time":"%s-28T08:21:00.1Z"}` + "\n"
		retry  = `E0728 16:23:19.000001    2588 nestedpendingoperations.go:301] Operation for "x" failed. No retries permitted until 2021-07-28 16:25:21 +0800 CST (durationBeforeRetry 2m2s). Error: "y"` + "\n"
		export = "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1627460400000000\n_HOSTNAME=worker-1\nSYSLOG_IDENTIFIER=containerd\nMESSAGE=x\n\n"
		rest   = "the year is inferred: the lines have none"
		others = "the year is inferred from times in other files of the node"
	)
	docker := func(month string) string { return strings.ReplaceAll(inJSON, "%s", month) }
	iso := func(month, host string) string { return month + "-28T16:21:00+08:00 " + host + " systemd[1]: x\n" }
	long := strings.Repeat(docker("2021-07"), 2000)
	for _, test := range []struct {
		name, text string
		others     []string
		saved      time.Time // of the others; zero is with the log
		first      string
		said       string
	}{
		{"a JSON log", plain, []string{docker("2021-07")}, time.Time{}, "2021-07-28T16:20:00Z", others},
		{"a long one", plain, []string{long}, time.Time{}, "2021-07-28T16:20:00Z", others},
		{"syslog with dates", plain, []string{iso("2021-07", "worker-1")}, time.Time{}, "2021-07-28T16:20:00Z", others},
		{"a retry, and its zone", plain, []string{retry}, time.Time{}, "2021-07-28T08:20:00Z", "the time zone is inferred from times in other files of the node: the lines have none, UTC+08:00 is assumed"},
		{"a journal export", plain, []string{export}, time.Time{}, "2021-07-28T16:20:00Z", others},
		{"a long one of many records", plain, []string{strings.Repeat(export, 2000)}, time.Time{}, "2021-07-28T16:20:00Z", others},
		{"the turn of a year", strings.ReplaceAll(plain, "0728", "1230"), []string{docker("2022-01")}, time.Time{}, "2021-12-30T16:20:00Z", others},
		{"several that agree", plain, []string{docker("2021-07"), iso("2021-08", "worker-1")}, time.Time{}, "2021-07-28T16:20:00Z", others},
		{"its own time counts more", plain + strings.ReplaceAll(retry, "2021", "2022"), []string{docker("2021-07")}, time.Time{}, "2022-07-28T08:20:00Z", "from times in the messages"},
		{"near miss: files that contradict each other", plain, []string{docker("2021-07"), docker("2022-07")}, time.Time{}, "2026-07-28T16:20:00Z", rest},
		{"near miss: one agrees with when it was saved", plain, []string{docker("2021-07"), docker("2026-07")}, time.Time{}, "2026-07-28T16:20:00Z", rest},
		{"near miss: another node", plain, []string{iso("2021-07", "worker-2")}, time.Time{}, "2026-07-28T16:20:00Z", rest},
		{"near miss: nobody knows which node", plain, []string{docker("2021-07"), iso("2026-07", "worker-2")}, time.Time{}, "2026-07-28T16:20:00Z", rest},
		{"near miss: later than it was saved", plain, []string{docker("2027-07")}, time.Time{}, "2026-07-28T16:20:00Z", rest},
		{"near miss: another season", plain, []string{docker("2026-01")}, time.Time{}, "2026-07-28T16:20:00Z", rest},
		{"near miss: a file of several years", plain, []string{docker("2021-07") + docker("2022-09")}, time.Time{}, "2026-07-28T16:20:00Z", rest},
		{"near miss: a long file of several years", plain, []string{strings.Repeat(docker("2021-07"), 150) + docker("2022-09")}, time.Time{}, "2026-07-28T16:20:00Z", rest},
		{"near miss: a longer one", plain, []string{long + docker("2022-09")}, time.Time{}, "2026-07-28T16:20:00Z", rest},
		{"near miss: an old file", plain, []string{docker("2021-07")}, saved.AddDate(-5, 0, 0), "2026-07-28T16:20:00Z", rest},
		{"near miss: two kubelets of zones that differ", plain, []string{retry, strings.ReplaceAll(strings.ReplaceAll(retry, "+0800 CST", "+0100 CET"), "2588", "2600")}, time.Time{}, "", ""},
	} {
		for _, far := range []bool{false, true} {
			r := Reader{Options: Options{Now: saved}}
			add := func(path, text string, saved time.Time) {
				r.Add(t.Context(), Source{Path: path, Far: far, Open: func(context.Context) (io.ReadCloser, error) {
					return savedLog{bytes.NewReader([]byte(text)), saved}, nil
				}})
			}
			add("log", test.text, saved)
			for i, other := range test.others {
				at := saved
				if !test.saved.IsZero() {
					at = test.saved
				}
				add("other"+string(rune('0'+i)), other, at)
			}
			var got *File
			for _, s := range r.Stories(t.Context()) {
				for _, f := range s.Files {
					if f.Path == "log" {
						got = &f
					}
				}
			}
			switch {
			case got == nil || got.First == nil:
				t.Errorf("%s, far %v: %+v", test.name, far, got)
			case test.first == "" && strings.Contains(got.Detail, "zone is inferred from"):
				t.Errorf("%s, far %v: %q", test.name, far, got.Detail)
			case test.first != "" && (got.First.Format(time.RFC3339) != test.first || !strings.Contains(got.Detail, test.said)):
				t.Errorf("%s, far %v: first %v, detail %q; want %s, %q", test.name, far, got.First, got.Detail, test.first, test.said)
			}
		}
	}
}
