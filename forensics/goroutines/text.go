package goroutines

import (
	"bytes"
	"strings"
)

// textReader reads dumps in text form and sorts the lines by their source, so
// that two processes that write to one log do not mix.
type textReader struct {
	emit     func(*dump, *scratch)
	names    *interner
	problems problemList
	dumps    []*dump
	overflow bool // there are more

	plain   *machine // lines without a log prefix
	sources map[string]*machine
	order   []*machine // of sources, as they appeared

	last       *machine // that had the last line with a prefix
	lastIndent int      // and the length of that prefix
}

// dump is a Dump being read.
type dump struct {
	Dump
	line  int // where it begins
	seen  int // goroutines, kept or not; in debug=1 their sum
	total int // what debug=1 announced
	ids   idIndex
	// surplus says that there are too many dumps to keep this one.
	surplus bool
}

// begin adds a dump, or says once that there are too many.
func (t *textReader) begin(d *dump) {
	if len(t.dumps) < maxDumps {
		t.dumps = append(t.dumps, d)
		return
	}
	if d.surplus = true; !t.overflow {
		t.overflow = true
		t.cutLast()
		t.problems.add(d.line, "more than %d dumps: the others are dropped", maxDumps)
	}
}

func newTextReader(emit func(*dump, *scratch), maxProblems int) *textReader {
	t := &textReader{
		emit:     emit,
		names:    newInterner(),
		problems: problemList{max: maxProblems},
		sources:  make(map[string]*machine),
	}
	t.plain = &machine{text: t}
	return t
}

// line takes one physical line.
func (t *textReader) line(b []byte, n int) {
	if len(b) > 0 && b[len(b)-1] == '\r' {
		b = b[:len(b)-1]
	}
	if len(b) == 0 || !mayBePrefix[b[0]] {
		t.plain.line(b, n)
		return
	}
	switch b[0] {
	case '{':
		if rec, ok := parseJSONLine(b); ok {
			t.jsonRecord(rec, n)
			return
		}
	case ' ':
		if m, rest, ok := t.continuation(b); ok {
			m.line(rest, n)
			return
		}
	default:
		if rec, ok := cutPrefix(b); ok {
			t.last, t.lastIndent = t.machine(rec.source), len(b)-len(rec.text)
			t.last.record(rec, n)
			return
		}
	}
	t.plain.line(b, n)
}

// continuation recognises how journalctl prints the further lines of a message:
// behind as many spaces as the first one has prefix.
func (t *textReader) continuation(b []byte) (m *machine, rest []byte, ok bool) {
	k := t.lastIndent
	if t.last == nil || k < 8 || len(b) <= k {
		return nil, nil, false
	}
	for _, c := range b[:k] {
		if c != ' ' {
			return nil, nil, false
		}
	}
	return t.last, b[k:], true
}

// jsonRecord takes a message, of one line or several, and the stacks in other fields.
func (t *textReader) jsonRecord(rec jsonRecord, n int) {
	m := t.machine([]byte(rec.source))
	t.last = nil
	text := strings.TrimSuffix(rec.text, "\n")
	several := strings.Contains(text, "\n")
	for more := true; more; {
		var line string
		line, text, more = strings.Cut(text, "\n")
		m.record(record{text: trimCR([]byte(line)), partial: !more && !rec.whole}, n)
	}
	for _, stack := range rec.stacks {
		several = true
		m.finish()
		for line := range strings.SplitSeq(stack, "\n") {
			m.line(trimCR([]byte(line)), n)
		}
	}
	if several && rec.whole {
		m.finish()
	}
}

func trimCR(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\r")) }

// machine returns the one that reads source. Sources beyond a limit share one.
func (t *textReader) machine(source []byte) *machine {
	if len(source) == 0 {
		return t.plain
	}
	if m := t.sources[string(source)]; m != nil {
		return m
	}
	if len(t.sources) >= maxSources {
		return t.plain
	}
	m := &machine{text: t, source: string(source)}
	t.sources[m.source] = m
	t.order = append(t.order, m)
	return m
}

// gap is told of lines that the log lost, of the unit named or of anyone.
func (t *textReader) gap(unit string, n int) {
	matched := false
	if unit != "" {
		for _, m := range t.order {
			if isUnit(m.source, unit) {
				matched = true
				m.gap(n)
			}
		}
	}
	if matched {
		return
	}
	t.plain.gap(n)
	for _, m := range t.order {
		m.gap(n)
	}
}

// isUnit says whether a source such as "node-1 kubelet[2588]" is of a unit.
func isUnit(source, unit string) bool {
	_, ident, ok := strings.Cut(source, " ")
	if !ok { // the host was cut off
		ident = source
	}
	rest, ok := strings.CutPrefix(ident, unit)
	return ok && (rest == "" || rest[0] == '[' || rest[0] == ' ')
}

func (t *textReader) finish(lastLine int) {
	t.plain.end(lastLine)
	for _, m := range t.order {
		m.end(lastLine)
	}
	for _, d := range t.dumps {
		if d.Form == formDebug1 && d.seen < d.total {
			d.Truncated = true
			t.problems.add(d.line, "dump announces %d goroutines but contains %d", d.total, d.seen)
		}
	}
}

// cutLast marks the last dump as incomplete.
func (t *textReader) cutLast() {
	if n := len(t.dumps); n > 0 {
		t.dumps[n-1].Truncated = true
	}
}
