package goroutines

// This file reads stacks of which the header is missing, because the text was cut or the log lost lines. Which goroutine it
// was, what state it was in and what its innermost calls were is then unknown.

// minHeadless is how many calls with a distance from the function's start (file:line +0x1a) a stack without a header has at
// least. Other programs print no such pairs.
const minHeadless = 2

// seeCall remembers a call outside of any goroutine: its location tells whether it is one.
func (m *machine) seeCall(b []byte, n int) {
	m.sawCall = false
	if b[len(b)-1] != ')' {
		return
	}
	raw, args, ok := splitCall(b)
	if !ok {
		return
	}
	name, ok := m.text.names.function(raw)
	if !ok {
		return
	}
	m.lone(name, args, n)
}

func (m *machine) lone(name string, args []byte, n int) {
	m.sawCall, m.callName, m.callLine = true, name, n
	m.callArgs = append(m.callArgs[:0], clipTo(args, maxArgs+1)...)
}

// beginHeadless begins a goroutine with the call that was seen last.
func (m *machine) beginHeadless() {
	m.finish()
	m.g.reset()
	m.g.Line = m.callLine
	m.mode, m.headless = inFrames, true
	m.awaiting = m.g.push(Frame{Func: m.callName}, m.callArgs)
}

// keepHeadless says whether the stack that was read is that of a goroutine, and prepares the dump that it is in. Otherwise
// its frames are counted.
func (m *machine) keepHeadless() bool {
	m.headless = false
	pairs := 0
	for i := range m.g.Frames {
		f := &m.g.Frames[i]
		if isRunning(f.Func) {
			pairs = 0
			break
		}
		if f.Offset > 0 {
			pairs++
		}
	}
	if pairs < minHeadless {
		for range m.g.Frames {
			m.orphan(m.g.Line)
		}
		return false
	}
	if !m.g.created {
		m.g.Cut = true
	}
	if m.dump == nil || !m.dump.HasStates() {
		m.newDump(FormDebug2, m.g.Line)
	}
	m.dump.Truncated = true
	m.text.problems.add(m.g.Line, "the header of a goroutine is missing: its number, state and age are unknown")
	return true
}

// isRunning says that the goroutine of a frame ran when the stack was written: it waited for nothing.
func isRunning(function string) bool {
	switch function {
	case "panic", "runtime.gopanic", "runtime.sigpanic", "runtime.throw", "runtime.fatalthrow", "runtime.Stack", "runtime/debug.Stack",
		"runtime/debug.PrintStack", "runtime/pprof.writeGoroutineStacks":
		return true
	}
	return false
}
