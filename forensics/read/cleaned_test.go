package read

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// Ages count from when a text was written: by date(1), or else by the newest line of a log in it. A file that was saved years later does not
// tell.
func TestShownDate(t *testing.T) {
	saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(s string) time.Time {
		when, err := time.Parse(time.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	const described = "  Warning  Failed   2m (x9 over 17m)  kubelet  Error: x\n"
	const containerd = "time=\"2021-11-30T15:20:09.008713356Z\" level=info msg=x\n"
	for _, c := range []struct {
		name, text string
		want       time.Time
	}{
		{"no time", "a\nb\n", saved},
		{"date", "Tue Nov 30 16:00:00 UTC 2021\n" + containerd, at("2021-11-30 16:00:00")},
		{"containerd", containerd, at("2021-11-30 15:20:09")},
		{"a line that is quoted", "> " + containerd, at("2021-11-30 15:20:09")},
		{"a program in a container", "2021-11-30T15:21:00Z x\n", at("2021-11-30 15:21:00")},
		{"dmesg -T, newest first", "[Tue Nov 30 15:35:22 2021] x\n[Tue Nov 30 15:17:21 2021] x\n" + containerd, at("2021-11-30 15:35:22")},
		{"klog behind it", containerd + "E1130 15:40:00.000001    2588 a.go:1] x\n", at("2021-11-30 15:40:00")},
		{"syslog behind it", containerd + "Nov 30 15:41:00 n kubelet[1]: x\n", at("2021-11-30 15:41:00")},
		{"klog of another time of the year", containerd + "E1208 15:40:00.000001    2588 a.go:1] x\n", at("2021-11-30 15:20:09")},
		{"klog alone", "E1118 11:40:00.000001    2588 a.go:1] x\nE1118 11:39:00.000001    2588 a.go:1] x\n", at("2026-11-18 11:40:00")},
		{"klog of the year before", "E1130 15:40:00.000001    2588 a.go:1] x\n", at("2025-11-30 15:40:00")},
		{"klog of the day before", "E1119 11:40:00.000001    2588 a.go:1] x\n", saved},
		{"containerd behind syslog", "Nov 30 15:41:00 n containerd[1]: " + containerd, at("2021-11-30 15:41:00")},
		{"events after a few lines", containerd + described, at("2021-11-30 15:37:10")},
		{"events of hours after a few lines", containerd + strings.Replace(described, "17m)", "5h)", 1), at("2021-11-30 16:20:09")},
		{"listed events after a few lines", containerd + "17m  Warning  BackOff  pod/a  Back-off restarting\n", at("2021-11-30 15:37:10")},
		{"events beside a log of the same time", "time=\"2021-11-30T15:00:00Z\" level=info\n" + containerd + described, at("2021-11-30 15:20:09")},
		{"of the day on which it was saved", "time=\"2026-11-19T15:20:09Z\" level=info\n", saved},
		{"two days before it was saved", "time=\"2026-11-18T11:59:59Z\" level=info\n", at("2026-11-18 11:59:59")},
		{"within a line", "creationTimestamp: 2021-11-30T15:20:09Z\n", saved},
	} {
		if got := shownDate([]byte(c.text), saved); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A file of blanks is empty; one that has only blanks where it is recognised is not, and says nothing else of itself.
func TestBlanksAreNoEmptyFile(t *testing.T) {
	for text, empty := range map[string]bool{
		"": true, "\n \n": true, strings.Repeat("\n", headSize-1): true, strings.Repeat("\n", headSize) + "I1120 10:02:45.000001    2588 a.go:1] x\n": false,
	} {
		_, results := Files(t.Context(), Options{}, FSFile(fstest.MapFS{"blank": {Data: []byte(text)}}, "blank"))
		if len(results) != 1 || (results[0].Err != nil && results[0].Err.Error() == "the file is empty") != empty {
			t.Errorf("%d bytes: %+v", len(text), results)
		}
	}
}
