package headline_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/internal/headline"
)

func TestFit(t *testing.T) {
	volume := "/var/lib/kubelet/pods/5c948341-c030-4996-b888-f032577d97b0/volumes/kubernetes.io~cephfs/cephfs-data"
	for name, c := range map[string]struct{ in, want string }{
		"short":     {"CephFS 10.0.0.5:6789:/k8s has not responded for 46 min", "CephFS 10.0.0.5:6789:/k8s has not responded for 46 min"},
		"a path":    {"kubelet is hung: housekeeping blocked for 46 min by " + volume, "kubelet is hung: housekeeping blocked for 46 min by /var/lib/kubelet/pods/5c94…/volumes/kubernetes.io~cephfs/cephfs-data"},
		"two names": {"Pod " + strings.Repeat("a", 63) + "/" + strings.Repeat("b", 63) + " is stuck", "Pod " + strings.Repeat("a", 53) + "…" + strings.Repeat("b", 53) + " is stuck"},
		"one word":  {strings.Repeat("é", 300), strings.Repeat("é", 59) + "…" + strings.Repeat("é", 60)},
		"words":     {strings.Repeat("word ", 40), strings.TrimSuffix(strings.Repeat("word ", 24), " ") + "…"},
		"nothing":   {"", ""},
	} {
		got := headline.Fit(c.in)
		if got != c.want || utf8.RuneCountInString(got) > headline.Most {
			t.Errorf("%s: %q (%d), want %q", name, got, utf8.RuneCountInString(got), c.want)
		}
	}
}

// TestFitKeepsBothNames cuts two long names alike, not one of them to nothing.
func TestFitKeepsBothNames(t *testing.T) {
	got := headline.Fit("Volume " + strings.Repeat("v", 90) + " in use by " + strings.Repeat("p", 80))
	words := strings.Fields(got)
	if v, p := utf8.RuneCountInString(words[1]), utf8.RuneCountInString(words[5]); v < 40 || p < 40 {
		t.Errorf("%d and %d characters are left: %s", v, p, got)
	}
}
