package goroutines

import "bytes"

// This file reads the lines of one goroutine.

// frame takes a line within a goroutine that is not indented.
func (m *machine) frame(b []byte, n int) {
	if b[len(b)-1] == ')' {
		if raw, args, ok := splitCall(b); ok {
			if name, ok := m.text.names.function(raw); ok {
				m.call(name, args, n)
				return
			}
		}
	}
	switch {
	case bytes.HasPrefix(b, []byte("created by ")):
		m.createdBy(b, n)
	case bytes.HasPrefix(b, []byte("...")):
		m.elided(b)
	case bytes.HasPrefix(b, []byte("[originating from goroutine ")):
		m.finish()
		m.mode = skipping // the stack of an ancestor (GODEBUG=tracebackancestors)
	case b[0] == ' ':
		m.indented(b, n)
	case b[0] == '/':
		m.location(b, n) // all white space was lost
	case bytes.HasPrefix(b, []byte("non-Go function")):
		m.call("non-Go function", nil, n)
	default:
		if m.awaiting != nil || !m.separates(b, n) {
			m.stray(b, n)
		}
	}
}

func (m *machine) call(name string, args []byte, n int) {
	if m.mode == inCreator {
		// A creator ends a goroutine: the header of what follows was lost.
		m.finish()
		m.lone(name, args, n)
		return
	}
	m.foreign = 0
	m.awaiting = m.g.push(Frame{Func: name}, args)
}

func (m *machine) createdBy(b []byte, n int) {
	raw, creator := splitCreator(b[len("created by "):])
	name, ok := m.text.names.function(raw)
	if !ok || m.mode == inCreator {
		m.stray(b, n)
		return
	}
	m.g.creator = Frame{Func: name}
	m.g.created = true
	m.g.CreatorID = creator
	m.mode = inCreator
	m.awaiting = &m.g.creator
	m.foreign = 0
}

// elided takes "...N frames elided..." or, before Go 1.21, "...additional frames elided...".
func (m *machine) elided(b []byte) {
	if !bytes.HasSuffix(b, []byte(" frames elided...")) {
		return
	}
	n, _, _ := parseInt(b[len("..."):])
	m.g.Elided += int(min(max(n, 1), maxElided))
	m.awaiting = nil
}

// maxElided bounds what one line may claim, so that sums cannot overflow.
const maxElided = 1 << 20

// location takes an indented line, without the first tab.
func (m *machine) location(b []byte, n int) {
	if m.mode == skipping || m.mode == inRecord {
		return
	}
	loc, ok := splitLocation(b)
	if !ok {
		m.g.unavailable = m.g.unavailable || m.mode == inFrames && string(b) == "goroutine running on other thread; stack unavailable"
		return
	}
	if m.mode == outside {
		if !m.sawCall {
			return
		}
		m.beginHeadless()
	}
	if m.awaiting == nil {
		m.text.problems.add(n, "goroutine %d: location without a function", m.g.ID)
		m.g.Elided++
		return
	}
	f := m.awaiting
	m.awaiting = nil
	m.foreign = 0
	f.File, f.Line, f.Offset = m.text.names.file(loc.file), loc.line, loc.offset
	if f.Offset > 0 {
		f.Inlined = false // a call of its own, whose arguments are not known: see package live
	}
}
