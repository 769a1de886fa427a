package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
	"github.com/nodeforensics/nodeforensics/forensics/runtimes"
)

var _ = scenariosOf("disk-near-threshold", diskNearThresholdOnDisks())

func diskNearThresholdOnDisks() []scenario {
	return []scenario{
		{name: "near", base: wellNode, change: disk(19), want: []string{"info disk 254:0"}, says: "4.0 % left above the hard eviction threshold imagefs.available<15%"},
		{name: "very near", base: wellNode, change: disk(16), want: []string{"warning disk 254:0"}, says: "starts at 85 % disk usage and frees space down to 80 %. Disk usage is 84 %"},
		{name: "past it is disk-pressure", base: wellNode, change: disk(14), outcome: forensics.OutcomeClean},
		{name: "far", base: wellNode, change: disk(20), outcome: forensics.OutcomeClean},
		{
			name: "one key drops the others", base: wellNode, change: disk(50, settings(eviction.Settings{Minor: 34, EvictionHard: map[string]string{"memory.available": "1Gi"}})),
			want: []string{"warning subsystem eviction"}, says: "disables the defaults of the others",
		},
		{
			name: "collection after eviction", base: wellNode, change: disk(50, settings(eviction.Settings{Minor: 34, HighPercent: ptr(90), LowPercent: ptr(80)})),
			want: []string{"info subsystem eviction"}, says: "eviction comes first",
		},
		{
			name: "a percentage that never triggers", base: wellNode, change: disk(50, settings(eviction.Settings{
				Minor: 34, MergeDefaults: true, EvictionHard: map[string]string{"nodefs.available": "0%"},
			})), want: []string{"info subsystem eviction"}, says: "the kubelet ignores 0%",
		},
		{
			name: "far from a default that is only assumed", base: wellNode, outcome: forensics.OutcomeNotChecked,
			change: disk(50, func(d *eviction.State) { d.Assumed = "/k.conf could not be read" }),
		},
		{
			name: "a mistake of which another file may know better", base: wellNode, change: disk(50, func(d *eviction.State) {
				settings(eviction.Settings{Minor: 34, EvictionHard: map[string]string{"memory.available": "1Gi"}})(d)
				d.Assumed = "/k.conf.d/2.conf could not be read"
			}),
			want: []string{"warning subsystem eviction"}, says: "disables the defaults",
		},
		{name: "what k3s sets is no mistake", base: wellNode, change: disk(50, settings(eviction.Settings{Minor: 34, Program: "k3s"})), outcome: forensics.OutcomeClean},
	}
}

// TestNearThresholdAtItsLimits is at the limits of disk-near-threshold and one byte beside them. The threshold is at 15 %.
func TestNearThresholdAtItsLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		available uint64
		want      forensics.Severity // "" for no finding
	}{
		"5 %":              {20 * gib, ""},
		"a byte below 5 %": {20*gib - 1, forensics.Info},
		"2 %":              {17 * gib, forensics.Info},
		"a byte below 2 %": {17*gib - 1, forensics.Warning},
		"at the threshold": {15 * gib, forensics.Warning},
		"a byte past it":   {15*gib - 1, ""}, // is disk-pressure
	} {
		e := wellNode(t)
		e.Disks = oneDisk(eviction.Settings{Minor: 34}, 0)
		e.Disks.FileSystems[0].AvailableBytes, e.Disks.FileSystems[0].FreeBytes = tt.available, tt.available
		var got forensics.Severity
		for _, f := range forensics.Analyze(&e, []forensics.Check{diskNearThreshold}).Findings {
			got = f.Severity
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestAssumedThresholdsProveLittle has every finding that rests on a threshold, with thresholds that are only assumed.
func TestAssumedThresholdsProveLittle(t *testing.T) {
	e := wellNode(t)
	disk(14, settings(eviction.Settings{Minor: 34, EvictionHard: map[string]string{"imagefs.available": "15%"}}))(t, &e)
	e.Images = []runtimes.Image{image("a")}
	e.Disks.Assumed = "/k.conf.d/2.conf could not be read"
	found := forensics.Analyze(&e, []forensics.Check{diskPressure, diskNearThreshold, imageGCFailing}).Findings
	ids := map[string]bool{}
	for _, f := range found {
		ids[f.ID] = true
		if f.Confidence != forensics.Possible || !strings.Contains(f.ConfidenceWhy, e.Disks.Assumed) {
			t.Errorf("%s is %s: %s", f.ID, f.Confidence, f.ConfidenceWhy)
		}
	}
	if len(ids) != 3 {
		t.Errorf("findings of %v; want all three", ids)
	}
}
