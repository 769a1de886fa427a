package eviction

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Settings are the settings of a kubelet for disks. A nil map was not set; an empty map was set without entries.
type Settings struct {
	// EvictionHard and the others are the fields of KubeletConfiguration.
	EvictionHard, EvictionSoft map[string]string
	SoftGracePeriod            map[string]string
	MergeDefaults              bool
	HighPercent, LowPercent    *int
	MaximumGCAge               string
	// Flags are the command line, names without dashes, which overrides the configuration.
	Flags map[string]string
	// Minor is the minor version of the kubelet (34 of 1.34.4), 0 if unknown; Program what runs it ("k3s").
	Minor   int
	Program string
}

// Values of Threshold.Kind.
const (
	kindHard = "hard"
	kindSoft = "soft"
)

// Hard says whether the kubelet evicts as soon as the threshold is crossed.
func (t Threshold) Hard() bool { return t.Kind == kindHard }

// A Threshold is one threshold of eviction.
type Threshold struct {
	// Signal is "nodefs.available", "imagefs.inodesFree" and the like: it is crossed when less than Value is left.
	Signal string `json:"signal"`
	// Kind is "hard" or "soft".
	Kind string `json:"kind"`
	// Value is a quantity ("1Gi") or a percentage of the capacity ("10%"), as it is written.
	Value string `json:"value"`
	// Quantity is Value in bytes or inodes; Percent the percentage. One of them is set.
	Quantity int64   `json:"quantity,omitempty"`
	Percent  float64 `json:"percent,omitempty"`
	// Origin is "default", "flag", "configuration" or the name of the distribution that sets it.
	Origin string `json:"origin"`
	// Grace is for how long a soft threshold must be crossed.
	Grace string `json:"grace_period,omitempty"`
	// Ignored says why it never triggers.
	Ignored string `json:"ignored,omitempty"`
}

// Role is the role of the file system that the threshold is about.
func (t Threshold) Role() string {
	role, _, _ := strings.Cut(t.Signal, ".")
	return role
}

// Inodes says whether it is about inodes; else it is about bytes.
func (t Threshold) Inodes() bool { return strings.HasSuffix(t.Signal, ".inodesFree") }

// limit is the threshold for a capacity (pkg/kubelet/eviction/api, GetThresholdQuantity).
func (t Threshold) limit(capacity uint64) uint64 {
	if t.Quantity > 0 {
		return uint64(t.Quantity)
	}
	return uint64(float64(capacity) * t.Percent / 100)
}

func (t Threshold) String() string { return t.Signal + "<" + t.Value }

// diskSignals are the signals about disks that can be configured. Those of containerfs are taken over from the file system
// that it shares (1.31 and later), and cannot be set.
var diskSignals = []string{"nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"}

// defaultHard are the defaults (pkg/kubelet/apis/config/v1beta1/defaults_linux.go); imagefs.inodesFree has had one
// since 1.30.
func defaultHard(minor int) map[string]string {
	hard := map[string]string{
		"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%",
	}
	if minor >= 30 {
		hard["imagefs.inodesFree"] = "5%"
	}
	return hard
}

// hard returns the map that counts, and where it is from. A flag replaces the whole map of the configuration
// (cmd/kubelet/app, kubeletConfigFlagPrecedence).
func (s Settings) hard() (set map[string]string, origin string) {
	switch flag, given := s.Flags["eviction-hard"]; {
	case given:
		return parseMap(flag, "<"), "flag"
	case s.EvictionHard != nil:
		return s.EvictionHard, "configuration"
	case s.Program == "k3s" || s.Program == "rke2":
		// Their agent passes these on within the process (k3s pkg/daemons/agent).
		return map[string]string{"imagefs.available": "5%", "nodefs.available": "5%"}, s.Program
	}
	return defaultHard(s.Minor), "default"
}

func (s Settings) soft() (set, grace map[string]string, origin string) {
	set, grace, origin = s.EvictionSoft, s.SoftGracePeriod, "configuration"
	if flag, given := s.Flags["eviction-soft"]; given {
		set, origin = parseMap(flag, "<"), "flag"
	}
	if flag, given := s.Flags["eviction-soft-grace-period"]; given {
		grace = parseMap(flag, "=")
	}
	return set, grace, origin
}

// parseMap reads "nodefs.available<10%,imagefs.available<5%".
func parseMap(text, separator string) map[string]string {
	set := map[string]string{}
	for pair := range strings.SplitSeq(strings.Trim(text, `"'`), ",") {
		if name, value, ok := strings.Cut(pair, separator); ok {
			set[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return set
}

// Thresholds are the eviction thresholds about disks that the kubelet has with these settings, hard ones first.
func (s Settings) Thresholds() []Threshold {
	list := []Threshold{}
	set, origin := s.hard()
	for _, signal := range diskSignals {
		value, own := set[signal]
		from := origin
		if !own && s.MergeDefaults && s.Minor >= 33 {
			value, from = defaultHard(s.Minor)[signal], "default"
		}
		if value != "" || own {
			list = append(list, newThreshold(signal, kindHard, value, from))
		}
	}
	set, grace, origin := s.soft()
	for _, signal := range diskSignals {
		if value, ok := set[signal]; ok {
			t := newThreshold(signal, kindSoft, value, origin)
			t.Grace = grace[signal]
			list = append(list, t)
		}
	}
	return list
}

// newThreshold reads a value as pkg/kubelet/eviction/helpers.go, parseThresholdStatement, does.
func newThreshold(signal, kind, value, origin string) Threshold {
	t := Threshold{Signal: signal, Kind: kind, Value: value, Origin: origin}
	var err error
	t.Percent, t.Quantity, err = parseValue(value)
	switch {
	case err != nil:
		t.Ignored = "the kubelet does not start" + err.Error()
	case value == "0%" || value == "100%":
		t.Ignored = "the kubelet ignores " + value
	case t.never():
		t.Ignored = "it never triggers, because available space cannot be below 0"
	}
	return t
}

// never says whether the threshold never triggers.
func (t Threshold) never() bool { return t.Percent == 0 && t.Quantity == 0 }

// parseValue reads a percentage or a quantity. Both are 0 for a value that the kubelet takes and that never triggers; with one
// that it does not take, which the error says, it does not start.
func parseValue(value string) (percent float64, quantity int64, err error) {
	text, ok := strings.CutSuffix(value, "%")
	switch {
	case value == "0%" || value == "100%":
		return 0, 0, nil
	case ok:
		percent, err = strconv.ParseFloat(text, 32)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return 0, 0, fmt.Errorf(" with %.40q, which is not a percentage", value)
		}
		return percent, 0, nil
	}
	quantity, err = parseQuantity(value)
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf(": %w", err)
	case quantity <= 0:
		return 0, 0, fmt.Errorf(" with %.40q, which is not positive", value)
	}
	return 0, quantity, nil
}

// ImageGC is at which disk usage the kubelet removes unused images.
type ImageGC struct {
	// HighPercent is the usage of imagefs from which it does, LowPercent down to which.
	HighPercent int    `json:"high_threshold_percent"`
	LowPercent  int    `json:"low_threshold_percent"`
	Origin      string `json:"origin"`
	// Disabled says why it never does.
	Disabled string `json:"disabled,omitempty"`
}

// ImageGC returns the thresholds of image garbage collection.
func (s Settings) ImageGC() ImageGC {
	gc := ImageGC{HighPercent: 85, LowPercent: 80, Origin: "default"}
	for _, field := range []struct {
		flag   string
		config *int
		set    *int
	}{
		{"image-gc-high-threshold", s.HighPercent, &gc.HighPercent},
		{"image-gc-low-threshold", s.LowPercent, &gc.LowPercent},
	} {
		flag := s.Flags[field.flag]
		if n, err := strconv.Atoi(flag[strings.LastIndexByte(flag, ',')+1:]); err == nil {
			*field.set, gc.Origin = n, "flag"
		} else if field.config != nil {
			*field.set, gc.Origin = *field.config, "configuration"
		}
	}
	if gc.HighPercent == 100 && (s.MaximumGCAge == "" || s.MaximumGCAge == "0s" || s.MaximumGCAge == "0") {
		gc.Disabled = "imageGCHighThresholdPercent is 100"
	}
	return gc
}

// AmountToFree is how much image garbage collection tries to free now, 0 below its threshold
// (pkg/kubelet/images/image_gc_manager.go, GarbageCollect).
func (g ImageGC) AmountToFree(f FileSystem) uint64 {
	if g.Disabled != "" || f.CapacityBytes == 0 || f.UsagePercent() < g.HighPercent {
		return 0
	}
	goal := uint64(float64(f.CapacityBytes) * float64(100-min(g.LowPercent, 100)) / 100)
	return goal - min(goal, f.AvailableBytes)
}

// A Problem is a setting that does not protect the node as it seems to.
type Problem struct {
	// Serious says that the kubelet does not start with it, or that no threshold watches nodefs. The first sentence of Text is a headline.
	Serious bool `json:"serious,omitempty"`
	// Signal is that of a threshold that is met with hardly anything in use; absent for other mistakes.
	Signal string `json:"signal,omitempty"`
	Text   string `json:"text"`
}

// absurd is from which percentage on a hard threshold leaves a disk less than what a system and its images take.
const absurd = 60

// Problems are the mistakes in the settings.
func (s Settings) Problems() []Problem {
	problems := []Problem{}
	add := func(serious bool, format string, args ...any) {
		problems = append(problems, Problem{Serious: serious, Text: fmt.Sprintf(format, args...)})
	}
	thresholds := s.Thresholds()
	for _, t := range thresholds {
		if t.never() {
			_, _, err := parseValue(t.Value)
			if err != nil {
				add(true, "%s eviction threshold %s is invalid: %s", t.Kind, t, t.Ignored)
			} else {
				add(false, "%s eviction threshold %s has no effect: %s", t.Kind, t, t.Ignored)
			}
		}
		if t.Kind == kindSoft && t.Grace == "" {
			add(true, "soft eviction threshold %s has no evictionSoftGracePeriod: the kubelet does not start", t)
		}
	}
	s.dropped(add)
	for _, t := range thresholds {
		if t.Hard() && t.Percent >= absurd {
			add(true, "hard eviction threshold %s is met as soon as %.4g %% are in use: a node has that without any pod", t, 100-t.Percent)
			problems[len(problems)-1].Signal = t.Signal
		}
	}
	gc := s.ImageGC()
	if gc.LowPercent >= gc.HighPercent {
		add(true, "the kubelet does not start: imageGCLowThresholdPercent (%d) is not below imageGCHighThresholdPercent (%d)", gc.LowPercent, gc.HighPercent)
	}
	if gc.Disabled != "" {
		add(false, "image garbage collection is disabled (%s): unused images remain until eviction deletes all at once", gc.Disabled)
	}
	for _, t := range thresholds {
		if t.Hard() && t.Percent > 0 && !t.Inodes() && gc.Disabled == "" && float64(gc.HighPercent) > 100-t.Percent {
			add(false, "image garbage collection starts at %d %% of imagefs, but %s evicts from %.4g %%: eviction comes first. "+
				"If nodefs and imagefs share a file system, eviction deletes every unused image.", gc.HighPercent, t, 100-t.Percent)
		}
	}
	return problems
}

// dropped names the defaults that are off because another one was set.
func (s Settings) dropped(add func(serious bool, format string, args ...any)) {
	set, origin := s.hard()
	if origin == "default" || s.Program == origin || s.MergeDefaults && s.Minor >= 33 {
		return
	}
	var off []string
	for _, signal := range slices.Sorted(maps.Keys(defaultHard(s.Minor))) {
		if _, ok := set[signal]; !ok {
			off = append(off, signal)
		}
	}
	if len(off) == 0 {
		return
	}
	_, watched := set["nodefs.available"]
	why := "Setting one evictionHard threshold disables the defaults of the others."
	if len(set) == 0 {
		why = "evictionHard is empty."
	}
	add(!watched, "eviction has no threshold for %s (%s). %s", strings.Join(off, ", "), origin, why)
}
