package goroutines

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/google/pprof/profile"
)

// WriteProfile writes d as a gzip'd profile.proto that "go tool pprof" opens.
// Each sample is a number of goroutines with the same stack, and carries as
// labels what a debug=0 dump lacks: state, role, created_by, and as a number
// wait (minutes). The goroutines' own labels are kept too.
// Calls that were inlined are marked as such. Arguments are lost.
func WriteProfile(w io.Writer, d Dump) error {
	b := newProfileBuilder()
	for i := range d.Goroutines {
		b.add(&d.Goroutines[i])
	}
	if err := b.p.CheckValid(); err != nil {
		return fmt.Errorf("build goroutine profile: %w", err)
	}
	if err := b.p.Write(w); err != nil {
		return fmt.Errorf("write goroutine profile: %w", err)
	}
	return nil
}

type profileBuilder struct {
	p         *profile.Profile
	functions map[[2]string]*profile.Function
	locations map[string]*profile.Location
	samples   map[string]*profile.Sample
	key       []byte
}

func newProfileBuilder() *profileBuilder {
	goroutines := &profile.ValueType{Type: "goroutine", Unit: "count"}
	// The mapping says that there is nothing to symbolise.
	mapping := &profile.Mapping{
		ID: 1, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}
	return &profileBuilder{
		p: &profile.Profile{
			SampleType: []*profile.ValueType{goroutines},
			PeriodType: goroutines,
			Period:     1,
			Mapping:    []*profile.Mapping{mapping},
		},
		functions: make(map[[2]string]*profile.Function),
		locations: make(map[string]*profile.Location),
		samples:   make(map[string]*profile.Sample),
	}
}

func (b *profileBuilder) add(g *Goroutine) {
	if len(g.Frames) == 0 {
		return
	}
	labels, minutes := profileLabels(g)
	var stack []*profile.Location
	for from := 0; from < len(g.Frames); {
		to := from
		for to < len(g.Frames)-1 && g.Frames[to].Inlined {
			to++
		}
		stack = append(stack, b.location(g.Frames[from:to+1]))
		from = to + 1
	}
	key := b.sampleKey(stack, labels, minutes)
	if s, ok := b.samples[key]; ok {
		s.Value[0] += int64(g.Count)
		return
	}
	s := &profile.Sample{Location: stack, Value: []int64{int64(g.Count)}, Label: labels}
	if minutes > 0 {
		s.NumLabel = map[string][]int64{"wait": {minutes}}
		s.NumUnit = map[string][]string{"wait": {"minutes"}}
	}
	b.samples[key] = s
	b.p.Sample = append(b.p.Sample, s)
}

func profileLabels(g *Goroutine) (labels map[string][]string, minutes int64) {
	labels = make(map[string][]string)
	for k, v := range g.Labels {
		labels[k] = []string{v}
	}
	if g.State != "" {
		labels["state"] = []string{g.State}
	}
	labels["role"] = []string{RoleOf(*g).Name}
	if g.CreatedBy != nil {
		labels["created_by"] = []string{g.CreatedBy.Func}
	}
	return labels, int64(g.WaitMinutes)
}

// sampleKey tells samples apart. fmt prints maps in the order of their keys.
func (b *profileBuilder) sampleKey(stack []*profile.Location, labels map[string][]string, minutes int64) string {
	b.key = b.key[:0]
	for _, l := range stack {
		b.key = binary.AppendUvarint(b.key, l.ID)
	}
	b.key = append(b.key, 0)
	b.key = binary.AppendVarint(b.key, minutes)
	return string(fmt.Appendf(b.key, "%q", labels))
}

// location returns the one of a call and of those inlined into it.
func (b *profileBuilder) location(frames []Frame) *profile.Location {
	b.key = b.key[:0]
	for i := range frames {
		b.key = fmt.Appendf(b.key, "%s\x00%s\x00%d\x00", frames[i].Func, frames[i].File, frames[i].Line)
	}
	if l, ok := b.locations[string(b.key)]; ok {
		return l
	}
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Mapping: b.p.Mapping[0]}
	for i := range frames {
		l.Line = append(l.Line, profile.Line{Function: b.function(&frames[i]), Line: int64(frames[i].Line)})
	}
	b.locations[string(b.key)] = l
	b.p.Location = append(b.p.Location, l)
	return l
}

func (b *profileBuilder) function(f *Frame) *profile.Function {
	key := [2]string{f.Func, f.File}
	if fn, ok := b.functions[key]; ok {
		return fn
	}
	fn := &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.Func, SystemName: f.Func, Filename: f.File}
	b.functions[key] = fn
	b.p.Function = append(b.p.Function, fn)
	return fn
}
