package runtimes

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Of containerd's records of one image, one has its ID and the others its names.
func TestImagesAreNamedByIDOrName(t *testing.T) {
	var m Metadata
	m.addImages([]record{{name: "sha256:6270bb60"}, {name: "registry.k8s.io/pause:3.9"}})
	want := []Image{{ID: "sha256:6270bb60"}, {Names: []string{"registry.k8s.io/pause:3.9"}}}
	if diff := cmp.Diff(want, m.Images); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestBinaryTime(t *testing.T) {
	want := time.Date(2026, 11, 21, 9, 0, 0, 123456789, time.UTC)
	for text, want := range map[string]*time.Time{
		"":                         nil,
		"2026-11-21":               nil,
		marshalled(t, time.Time{}): nil,
		marshalled(t, want):        &want,
		marshalled(t, want.In(time.FixedZone("", 19800))): &want,
	} {
		if got := binaryTime(text); (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func marshalled(t *testing.T, at time.Time) string {
	t.Helper()
	text, err := at.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
