package goroutines

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/google/pprof/profile"
)

// looksLikeProtobuf says whether b can be the start of a profile.proto message:
// a field of type message, and bytes that no text has. The Go runtime writes
// the period type (field 11), the sample type (1) or, up to Go 1.9, the mappings (3) first.
func looksLikeProtobuf(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	switch b[0] {
	case 0x0a, 0x12, 0x1a, 0x22, 0x2a, 0x5a:
	default:
		return false
	}
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return true
		}
	}
	return false
}

// protobuf reads a debug=0 dump. If it is none, the input is handed back, to be read as text.
func (t *textReader) protobuf(in io.Reader) (rest io.Reader, done bool) {
	data, err := io.ReadAll(io.LimitReader(in, maxProtobuf))
	if n, isMessage := messages(data); isMessage && (len(data) == maxProtobuf || n > maxMessages) {
		t.problems.add(0, "profile of more than %d bytes or %d stacks, locations and names: not read", maxProtobuf, maxMessages)
		return nil, true
	}
	if err != nil || len(data) == maxProtobuf {
		return io.MultiReader(bytes.NewReader(data), in), false
	}
	p, err := parseProfile(data)
	if err != nil {
		t.problems.add(0, "binary input is not a profile: %v", err)
		return bytes.NewReader(data), false
	}
	if !isGoroutineProfile(p) {
		t.problems.add(0, "profile of %s, not of goroutines", profileKind(p))
		return nil, true
	}
	d := &dump{Dump: Dump{Form: formDebug0, Goroutines: []Goroutine{}}}
	t.dumps = append(t.dumps, d)
	for _, sample := range p.Sample {
		t.sample(d, sample)
	}
	return nil, true
}

// messages counts the fields of a message, of which the end may be missing; ok is false if it is none.
func messages(data []byte) (n int, ok bool) {
	const bytesType, varint = 2, 0
	for len(data) > 0 {
		tag, size := binary.Uvarint(data)
		if size <= 0 || tag>>3 == 0 || tag>>3 > 20 {
			return n, size == 0
		}
		value, length := binary.Uvarint(data[size:])
		switch {
		case length == 0:
			return n, true
		case length < 0 || tag&7 != bytesType && tag&7 != varint:
			return n, false
		case tag&7 == varint:
			value = 0
		}
		rest := data[size+length:]
		if value > uint64(len(rest)) {
			return n, true
		}
		data = rest[value:]
		n++
	}
	return n, true
}

// parseProfile decodes a message. The library is called with data of strangers: a panic in it is an error.
func parseProfile(data []byte) (p *profile.Profile, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decode profile: %v", r)
		}
	}()
	return profile.ParseUncompressed(data)
}

func isGoroutineProfile(p *profile.Profile) bool {
	return slices.ContainsFunc(p.SampleType, func(v *profile.ValueType) bool {
		return v.Type == "goroutine" || v.Type == "goroutineleak"
	})
}

func profileKind(p *profile.Profile) string {
	if len(p.SampleType) == 0 {
		return "unknown kind"
	}
	return p.SampleType[len(p.SampleType)-1].Type
}

func (t *textReader) sample(d *dump, sample *profile.Sample) {
	if len(sample.Value) == 0 || sample.Value[0] <= 0 {
		return
	}
	var s scratch
	s.reset()
	s.Count = int(min(sample.Value[0], maxCount))
	for _, location := range sample.Location {
		s.pushLocation(location)
	}
	s.dropRuntime()
	if len(s.Frames) == 0 {
		t.problems.add(0, "sample of %d goroutines without a stack dropped", s.Count)
		return
	}
	for key, values := range sample.Label {
		if s.Labels == nil {
			s.Labels = make(map[string]string)
		}
		if len(values) > 0 {
			s.Labels[key] = values[0]
		}
	}
	d.seen += s.Count
	t.emit(d, &s)
}

// pushLocation adds the calls at one program counter: all but the last were
// inlined into the next one.
func (s *scratch) pushLocation(l *profile.Location) {
	if len(l.Line) == 0 {
		s.push(Frame{Func: fmt.Sprintf("0x%x", l.Address)}, nil)
	}
	for i, line := range l.Line {
		f := Frame{Line: int(line.Line)}
		if line.Function != nil {
			f.Func, f.File = normalizeFunc(line.Function.Name), line.Function.Filename
		}
		var args []byte
		if i < len(l.Line)-1 {
			args = []byte(inlinedArgs)
		}
		s.push(f, args)
	}
}
