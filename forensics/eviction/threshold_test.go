package eviction

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func ptr[T any](v T) *T { return &v }

func TestThresholds(t *testing.T) {
	type set = map[string]string
	for _, tt := range []struct {
		name     string
		settings Settings
		want     []string // "kind signal<value origin", "!" in front of those that never trigger
		problems []string // "serious " where it is
	}{
		{
			name: "defaults of 1.29", settings: Settings{Minor: 29},
			want: []string{"hard nodefs.available<10% default", "hard nodefs.inodesFree<5% default", "hard imagefs.available<15% default"},
		},
		{
			name: "1.30 watches the inodes of imagefs", settings: Settings{Minor: 30},
			want: []string{
				"hard nodefs.available<10% default", "hard nodefs.inodesFree<5% default", "hard imagefs.available<15% default",
				"hard imagefs.inodesFree<5% default",
			},
		},
		{
			name: "one key drops the others", settings: Settings{Minor: 34, EvictionHard: set{"memory.available": "200Mi"}},
			want:     []string{},
			problems: []string{"serious eviction has no threshold for imagefs.available, imagefs.inodesFree, nodefs.available, nodefs.inodesFree (configuration)"},
		},
		{
			name: "a disk key drops memory", settings: Settings{Minor: 34, EvictionHard: set{
				"nodefs.available": "1Gi", "nodefs.inodesFree": "1000", "imagefs.available": "5%", "imagefs.inodesFree": "5%",
			}},
			want: []string{
				"hard nodefs.available<1Gi configuration", "hard nodefs.inodesFree<1000 configuration",
				"hard imagefs.available<5% configuration", "hard imagefs.inodesFree<5% configuration",
			},
			problems: []string{"eviction has no threshold for memory.available (configuration)"},
		},
		{
			name: "merged with the defaults since 1.33", settings: Settings{Minor: 33, MergeDefaults: true, EvictionHard: set{"nodefs.available": "1Gi"}},
			want: []string{
				"hard nodefs.available<1Gi configuration", "hard nodefs.inodesFree<5% default", "hard imagefs.available<15% default",
				"hard imagefs.inodesFree<5% default",
			},
		},
		{
			name: "1.32 does not know how to merge", settings: Settings{Minor: 32, MergeDefaults: true, EvictionHard: set{"nodefs.available": "1Gi"}},
			want:     []string{"hard nodefs.available<1Gi configuration"},
			problems: []string{"eviction has no threshold for imagefs.available, imagefs.inodesFree, memory.available, nodefs.inodesFree (configuration)"},
		},
		{
			name: "set to nothing", settings: Settings{Minor: 34, EvictionHard: set{}},
			want:     []string{},
			problems: []string{"serious eviction has no threshold for imagefs.available, imagefs.inodesFree, memory.available, nodefs.available, nodefs.inodesFree (configuration). evictionHard is empty."},
		},
		{
			name: "a flag replaces the configuration", settings: Settings{
				Minor: 20, EvictionHard: set{"nodefs.available": "1Gi"},
				Flags: set{"eviction-hard": "memory.available<100Mi,nodefs.available<7%,nodefs.inodesFree<5%,imagefs.available<15%"},
			},
			want: []string{"hard nodefs.available<7% flag", "hard nodefs.inodesFree<5% flag", "hard imagefs.available<15% flag"},
		},
		{
			name: "k3s sets its own", settings: Settings{Minor: 31, Program: "k3s"},
			want: []string{"hard nodefs.available<5% k3s", "hard imagefs.available<5% k3s"},
		},
		{
			name: "percentages that never trigger", settings: Settings{Minor: 34, MergeDefaults: true, EvictionHard: set{
				"nodefs.available": "0%", "nodefs.inodesFree": "100%", "imagefs.available": "0.0%",
			}},
			want: []string{
				"!hard nodefs.available<0% configuration", "!hard nodefs.inodesFree<100% configuration",
				"!hard imagefs.available<0.0% configuration", "hard imagefs.inodesFree<5% default",
			},
			problems: []string{
				"hard eviction threshold nodefs.available<0% has no effect: the kubelet ignores 0%", "hard eviction threshold nodefs.inodesFree<100% has no effect: the kubelet ignores 100%",
				"hard eviction threshold imagefs.available<0.0% has no effect: it never triggers",
			},
		},
		{
			name: "values that the kubelet does not start with", settings: Settings{Minor: 34, MergeDefaults: true, EvictionHard: set{
				"nodefs.available": "10", "nodefs.inodesFree": "5 %", "imagefs.available": "1GB", "imagefs.inodesFree": "101%",
			}},
			want: []string{
				"hard nodefs.available<10 configuration", "!hard nodefs.inodesFree<5 % configuration",
				"!hard imagefs.available<1GB configuration", "!hard imagefs.inodesFree<101% configuration",
			},
			problems: []string{
				"serious hard eviction threshold nodefs.inodesFree<5 %", "serious hard eviction threshold imagefs.available<1GB", "serious hard eviction threshold imagefs.inodesFree<101%",
			},
		},
		{
			name: "soft ones need a grace period", settings: Settings{
				Minor: 29, EvictionSoft: set{"nodefs.available": "15%", "imagefs.available": "20%"}, SoftGracePeriod: set{"nodefs.available": "1m30s"},
			},
			want: []string{
				"hard nodefs.available<10% default", "hard nodefs.inodesFree<5% default", "hard imagefs.available<15% default",
				"soft nodefs.available<15% configuration", "soft imagefs.available<20% configuration",
			},
			problems: []string{"serious soft eviction threshold imagefs.available<20% has no evictionSoftGracePeriod"},
		},
		{
			name: "image collection after eviction", settings: Settings{Minor: 29, HighPercent: ptr(95), LowPercent: ptr(90)},
			want: []string{"hard nodefs.available<10% default", "hard nodefs.inodesFree<5% default", "hard imagefs.available<15% default"},
			problems: []string{
				"image garbage collection starts at 95 % of imagefs, but nodefs.available<10% evicts from 90 %",
				"image garbage collection starts at 95 % of imagefs, but imagefs.available<15% evicts from 85 %",
			},
		},
		{
			name: "image collection off", settings: Settings{Minor: 29, HighPercent: ptr(100)},
			want:     []string{"hard nodefs.available<10% default", "hard nodefs.inodesFree<5% default", "hard imagefs.available<15% default"},
			problems: []string{"image garbage collection is disabled"},
		},
		{
			name: "low above high", settings: Settings{Minor: 29, Flags: set{"image-gc-high-threshold": "70"}},
			want:     []string{"hard nodefs.available<10% default", "hard nodefs.inodesFree<5% default", "hard imagefs.available<15% default"},
			problems: []string{"serious the kubelet does not start: imageGCLowThresholdPercent (80) is not below imageGCHighThresholdPercent (70)"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := []string{}
			for _, th := range tt.settings.Thresholds() {
				text := th.Kind + " " + th.String() + " " + th.Origin
				if th.Ignored != "" {
					text = "!" + text
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("thresholds (-want +got):\n%s", diff)
			}
			problems := tt.settings.Problems()
			if len(problems) != len(tt.problems) {
				t.Fatalf("problems %+v, want %q", problems, tt.problems)
			}
			for i, p := range problems {
				text := p.Text
				if p.Serious {
					text = "serious " + text
				}
				if !strings.HasPrefix(text, tt.problems[i]) {
					t.Errorf("problem %d is %q, want %q", i, text, tt.problems[i])
				}
			}
		})
	}
}

// TestThresholdsOfTheCapture reads the configuration of a real kubelet and its own view of the disk, which it said was
// under pressure: "attempting to reclaim ephemeral-storage" every 10 s, and images removed by collection.
func TestThresholdsOfTheCapture(t *testing.T) {
	var config struct {
		EvictionHard map[string]string `json:"evictionHard"`
		High         *int              `json:"imageGCHighThresholdPercent"`
		Low          *int              `json:"imageGCLowThresholdPercent"`
	}
	var summary struct {
		Node struct {
			Fs struct{ AvailableBytes, CapacityBytes, UsedBytes, InodesFree, Inodes uint64 }
		}
	}
	const dir = "../../testdata/captures/kubelet-1.34.4-disk-pressure/"
	for name, into := range map[string]any{"config.yaml": &config, "stats-summary.json": &summary} {
		text, err := os.ReadFile(dir + name)
		if err == nil {
			text, err = yaml.YAMLToJSON(text)
		}
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	settings := Settings{EvictionHard: config.EvictionHard, HighPercent: config.High, LowPercent: config.Low, Minor: 34}
	n := summary.Node.Fs
	s := State{
		Places: []Place{{Role: RoleNode, Device: "254:0"}, {Role: RoleImage, Device: "254:0"}, {Role: RoleContainer, Device: "254:0"}},
		FileSystems: []FileSystem{{
			Device: "254:0", CapacityBytes: n.CapacityBytes, AvailableBytes: n.AvailableBytes, FreeBytes: n.CapacityBytes - n.UsedBytes,
			Inodes: n.Inodes, InodesFree: n.InodesFree,
		}},
		Thresholds: settings.Thresholds(), ImageGC: settings.ImageGC(),
	}
	var met []string
	for _, r := range s.Index().Reaches("254:0") {
		if r.Met {
			met = append(met, r.Threshold.String())
		}
	}
	if diff := cmp.Diff([]string{"nodefs.available<95%", "imagefs.available<95%"}, met); diff != "" {
		t.Errorf("thresholds that are crossed (-want +got):\n%s", diff)
	}
	if free := s.ImageGC.AmountToFree(s.FileSystems[0]); free == 0 || s.FileSystems[0].UsagePercent() != 74 {
		t.Errorf("images: %d bytes to free at %d %%, want some at 74 %%", free, s.FileSystems[0].UsagePercent())
	}
	if shared, known := s.Index().Shared(); !shared || !known {
		t.Errorf("shared %v, known %v", shared, known)
	}
	problems := settings.Problems()
	if len(problems) != 3 || !strings.Contains(problems[0].Text, "imagefs.inodesFree, memory.available, nodefs.inodesFree") ||
		problems[1].Signal != "nodefs.available" || problems[2].Signal != "imagefs.available" {
		t.Errorf("problems %+v, want the defaults that are off and the two thresholds of 95%%", problems)
	}
}

func TestReaches(t *testing.T) {
	state := func(available, inodesFree uint64) *State {
		s := Settings{Minor: 34}
		return &State{
			Places:      []Place{{Role: RoleNode, Device: "8:1"}, {Role: RoleImage, Device: "8:2"}},
			FileSystems: []FileSystem{{Device: "8:1", CapacityBytes: 1000, AvailableBytes: available, Inodes: 1000, InodesFree: inodesFree}, {Device: "8:2", Error: "not asked"}},
			Thresholds:  s.Thresholds(), ImageGC: s.ImageGC(),
		}
	}
	for _, tt := range []struct {
		name              string
		available, inodes uint64
		first             string
		met, near         bool
	}{
		{"plenty", 500, 500, "nodefs.available<10%", false, false},
		{"exactly at the threshold is not below", 100, 500, "nodefs.available<10%", false, true},
		{"below", 99, 500, "nodefs.available<10%", true, true},
		{"near", 149, 500, "nodefs.available<10%", false, true},
		{"inodes", 500, 49, "nodefs.inodesFree<5%", true, true},
		{"full", 0, 500, "nodefs.available<10%", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := state(tt.available, tt.inodes)
			r := s.Index().Reaches("8:1")
			if len(r) != 2 || r[0].Threshold.String() != tt.first || r[0].Met != tt.met || s.Index().IsNear("8:1") != tt.near {
				t.Errorf("near %v, reaches %+v", s.Index().IsNear("8:1"), r)
			}
		})
	}
	if r := state(500, 500); r.Index().IsNear("8:2") {
		t.Error("a file system without figures is near a threshold")
	}
	if got := (FileSystem{CapacityBytes: 3, AvailableBytes: 1}).UsagePercent(); got != 67 {
		t.Errorf("usage %d %%, want 67: the kubelet rounds the available part down", got)
	}
}

// TestEqualThresholds has figures that are just equal: what is at a threshold is not past it, a hard threshold comes before a
// soft one of the same value, and garbage collection at the usage of eviction comes in time.
func TestEqualThresholds(t *testing.T) {
	ten := map[string]string{"nodefs.available": "10%"}
	s := Settings{Minor: 34, EvictionHard: ten, EvictionSoft: ten, SoftGracePeriod: map[string]string{"nodefs.available": "1m"}, HighPercent: ptr(90), LowPercent: ptr(89)}
	d := State{
		Places:      []Place{{Role: RoleNode, Device: "8:1"}, {Role: RoleImage, Device: "8:1"}},
		FileSystems: []FileSystem{{Device: "8:1", CapacityBytes: 1000, FreeBytes: 100, AvailableBytes: 100}}, Thresholds: s.Thresholds(),
	}
	list := d.Index().Reaches("8:1")
	if len(list) != 2 || list[0].Threshold.Kind != "hard" || list[1].Threshold.Kind != "soft" || list[0].Met || list[1].Met || list[0].Left() != 0 {
		t.Errorf("at the threshold: %+v", list)
	}
	d.FileSystems[0].AvailableBytes = 99
	if list := d.Index().Reaches("8:1"); !list[0].Met || !list[1].Met {
		t.Errorf("a byte past the threshold: %+v", list)
	}
	says := func(s Settings, text string) bool {
		return slices.ContainsFunc(s.Problems(), func(p Problem) bool { return strings.Contains(p.Text, text) })
	}
	if says(s, "eviction comes first") || says(s, "does not start") {
		t.Errorf("equal to eviction: %+v", s.Problems())
	}
	s.HighPercent = ptr(91)
	if !says(s, "eviction comes first") {
		t.Errorf("above eviction: %+v", s.Problems())
	}
	// Garbage collection begins at its threshold, not behind it: at 90 % of 1000, 10 have to go for 89 %.
	d.FileSystems[0].AvailableBytes = 100
	if free := (ImageGC{HighPercent: 90, LowPercent: 89}).AmountToFree(d.FileSystems[0]); free != 10 {
		t.Errorf("at its threshold, garbage collection frees %d of 1000", free)
	}
	if free := (ImageGC{HighPercent: 91, LowPercent: 89}).AmountToFree(d.FileSystems[0]); free != 0 {
		t.Errorf("below its threshold, garbage collection frees %d of 1000", free)
	}
	s.LowPercent = ptr(91)
	if !says(s, "imageGCLowThresholdPercent (91) is not below imageGCHighThresholdPercent (91)") {
		t.Errorf("down to where it begins: %+v", s.Problems())
	}
}
