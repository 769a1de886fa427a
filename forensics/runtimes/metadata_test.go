package runtimes

import (
	"testing"
	"time"
)

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
