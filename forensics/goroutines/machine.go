package goroutines

import "bytes"

// machine reads the lines of one source.
type machine struct {
	text   *textReader
	source string
	dump   *dump // nil before the first goroutine
	g      scratch
	mode   mode
	// awaiting is the last frame, or the creator, while it lacks its location.
	awaiting *Frame
	gapped   bool // an empty line was above
	foreign  int  // lines in a row that belong to no goroutine

	header     string // of the next dump
	headerLine int
	badHeader  int  // line of the last header that could not be read
	relayed    bool // behind "-----": another thread goes on with the same crash

	orphans    int // frames without a goroutine
	orphanLine int // where the first of them stands
	orphanEnd  int // and the last

	sawCall  bool   // the last line outside of a goroutine was a call:
	callName string // its function,
	callArgs []byte // its arguments,
	callLine int    // and where it stands
	headless bool   // the goroutine being read has no header

	indent       []byte // what stands before each line of the dump
	partial      []byte // the start of a line that the log cut
	otherProfile bool   // within a profile that is not of goroutines
}

type mode uint8

const (
	outside   mode = iota // no goroutine begun
	skipping              // in a stack that is not kept
	inFrames              // behind a header
	inCreator             // behind "created by"
	inRecord              // in a record of debug=1
)

// maxForeign is how many lines of others may interrupt a goroutine before it counts as ended.
const maxForeign = 64

// record takes a log line without its prefix.
func (m *machine) record(rec record, n int) {
	b := rec.text
	if bytes.Contains(b, []byte("#011")) { // rsyslog's spelling of a tab
		b = bytes.ReplaceAll(b, []byte("#011"), []byte{'\t'})
	}
	if rec.partial || len(m.partial) > 0 {
		if room := maxPartial - len(m.partial); room > 0 {
			m.partial = append(m.partial, clipTo(b, room)...)
		}
		if rec.partial {
			return
		}
		b = m.partial
		m.partial = m.partial[:0]
	}
	if rec.klog == 0 {
		m.line(b, n)
		return
	}
	switch {
	case bytes.HasPrefix(b, []byte("goroutine ")):
		m.begin(b, n)
	case rec.klog == 'F' || len(b) > 0 && announces(b):
		m.finish()
		m.announce(b, n)
	default:
		m.stray(b, n)
	}
}

// line takes one line without prefix, newline and carriage return.
func (m *machine) line(b []byte, n int) {
	if len(m.indent) > 0 && len(b) > 0 {
		rest, ok := bytes.CutPrefix(b, m.indent)
		if !ok {
			m.finish()
			m.indent = m.indent[:0]
		}
		b = rest
	}
	if len(b) == 0 {
		// Between a call and its location the runtime leaves no line empty: somebody has put a wrapped line together.
		if m.gapped = m.awaiting != nil && !m.gapped; !m.gapped {
			m.finish()
		}
		return
	}
	if m.gapped && b[0] != '\t' {
		m.finish()
	}
	m.gapped = false
	switch {
	case b[0] == '\t':
		if len(b) > 1 && b[1] != '/' && m.awaiting == nil && m.startIndent(b, n) {
			return
		}
		m.location(b[1:], n)
	case b[0] == 'g' && bytes.HasPrefix(b, []byte("goroutine ")):
		m.begin(b, n)
	case b[0] == '#':
		m.comment(b, n)
	case m.mode == inFrames || m.mode == inCreator:
		m.frame(b, n)
	default:
		m.between(b, n)
	}
}

// between takes a line outside of any goroutine.
func (m *machine) between(b []byte, n int) {
	switch {
	case b[0] >= '0' && b[0] <= '9' && m.stackRecord(b, n):
	case m.separates(b, n):
	case b[0] == ' ':
		m.indented(b, n)
	case m.profile(b, n):
	default:
		m.seeCall(b, n)
		m.stray(b, n)
	}
}

// separates takes what the runtime prints between stacks. journald drops empty
// lines: then nothing else ends the goroutine before.
func (m *machine) separates(b []byte, n int) bool {
	switch {
	case announces(b):
		m.finish()
		m.announce(b, n)
	case string(b) == "-----":
		m.finish()
		m.relayed = m.dump != nil && m.dump.Form == formCrash
	case string(b) == "runtime stack:":
		m.finish()
		m.mode = skipping
	default:
		return false
	}
	return true
}

// stray takes a line that is no part of a dump.
func (m *machine) stray(b []byte, n int) {
	if unit, ok := gapUnit(b); ok {
		m.text.gap(unit, n)
		return
	}
	if m.mode == outside {
		return
	}
	if m.foreign++; m.foreign > maxForeign {
		m.g.Cut = m.endsWithin()
		m.finish()
	}
}

// clipTo returns at most n bytes of b.
func clipTo(b []byte, n int) []byte { return b[:min(n, len(b))] }
