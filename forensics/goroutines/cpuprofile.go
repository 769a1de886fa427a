package goroutines

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// CPUProfile is what a process computed for some seconds.
type CPUProfile struct {
	// Source is the URL or file; Taken when it ended.
	Source string     `json:"source"`
	PID    int        `json:"pid,omitempty"`
	Taken  *time.Time `json:"taken,omitempty"`
	// Seconds is how long it was watched, CPUSeconds how long its threads ran in that time, together.
	Seconds    float64 `json:"duration_seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	// Stacks are where it ran, heaviest first, at most 200; OtherSeconds is the CPU time of the others.
	Stacks       []CPUStack `json:"stacks"`
	OtherSeconds float64    `json:"other_cpu_seconds,omitempty"`
}

// CPUStack is the time spent in one stack.
type CPUStack struct {
	Seconds float64 `json:"cpu_seconds"`
	// Frames are functions as [normalizeFunc] spells them, innermost first, at most 100.
	Frames []string `json:"frames"`
}

const (
	maxCPUStacks = 200
	maxCPUFrames = 100
)

// ParseCPUProfile reads what /debug/pprof/profile?seconds=N of net/http/pprof returns: a CPU profile in the format of pprof
// (github.com/google/pprof/proto/profile.proto), gzip'd or not. The runtime interrupts each thread that runs 100 times a second
// of its CPU time (runtime/pprof, StartCPUProfile): times are multiples of 10 ms, and what waits is not in it. A profile of
// another kind, of the heap or of goroutines, is an error. Source is the URL or file that it is from; Taken is absent where the
// profile does not say.
func ParseCPUProfile(source string, data []byte) (CPUProfile, error) {
	p, err := profile.ParseData(data)
	if err != nil {
		return CPUProfile{}, fmt.Errorf("%s: cpu profile: %w", source, err)
	}
	value := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" && t.Unit == "nanoseconds" })
	if value < 0 {
		return CPUProfile{}, fmt.Errorf("%s: not a cpu profile", source)
	}
	c := CPUProfile{Source: source, Seconds: time.Duration(p.DurationNanos).Seconds(), Stacks: []CPUStack{}}
	if p.TimeNanos > 0 {
		taken := time.Unix(0, p.TimeNanos+p.DurationNanos).UTC()
		c.Taken = &taken
	}
	index := map[string]int{}
	for _, sample := range p.Sample {
		frames := framesOf(sample)
		seconds := time.Duration(sample.Value[value]).Seconds()
		key := strings.Join(frames, "\n")
		i, ok := index[key]
		if !ok {
			i = len(c.Stacks)
			index[key] = i
			c.Stacks = append(c.Stacks, CPUStack{Frames: frames})
		}
		c.Stacks[i].Seconds += seconds
		c.CPUSeconds += seconds
	}
	c.bound()
	return c, nil
}

// framesOf names the calls of a sample, innermost first.
func framesOf(sample *profile.Sample) []string {
	frames := []string{}
	for _, location := range sample.Location {
		for _, line := range location.Line {
			if line.Function != nil && len(frames) < maxCPUFrames {
				frames = append(frames, normalizeFunc(line.Function.Name))
			}
		}
	}
	return frames
}

// bound keeps the heaviest stacks.
func (c *CPUProfile) bound() {
	sorting.Stable(c.Stacks, func(a, b CPUStack) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), slices.Compare(a.Frames, b.Frames))
	})
	for _, s := range c.Stacks[min(len(c.Stacks), maxCPUStacks):] {
		c.OtherSeconds += s.Seconds
	}
	c.Stacks = c.Stacks[:min(len(c.Stacks), maxCPUStacks)]
}
