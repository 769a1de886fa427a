package goroutines

import (
	"bytes"
	"strings"
)

// This file begins goroutines and dumps.

// begin takes a line that starts with "goroutine ".
func (m *machine) begin(b []byte, n int) {
	if !isHeader(b) {
		if !m.profile(b, n) {
			m.stray(b, n)
		}
		return
	}
	m.finish()
	m.g.reset()
	gp, reason := parseHeader(b, &m.g.Goroutine, m.text.names)
	if reason != "" {
		m.text.problems.add(n, "goroutine dropped: %s: %q", reason, clipTo(b, 80))
		m.mode, m.badHeader = skipping, n
		return
	}
	m.g.Line = n
	m.mode = inFrames
	m.chooseDump(gp, n)
}

// isHeader says whether b is at least the start of a goroutine's header.
func isHeader(b []byte) bool {
	const p = "goroutine "
	return len(b) > len(p) && string(b[:len(p)]) == p && b[len(p)] >= '0' && b[len(p)] <= '9'
}

// indented takes a line behind spaces: a location whose tab was lost, or the
// start of a dump that stands further to the right as a whole.
func (m *machine) indented(b []byte, n int) {
	if !m.startIndent(b, n) {
		m.location(bytes.TrimLeft(b, " \t"), n)
	}
}

// startIndent recognises the first line of a dump behind white space, as in the
// value of a klog key, and takes it. The lines that follow must have the same.
func (m *machine) startIndent(b []byte, n int) bool {
	rest := bytes.TrimLeft(b, " \t")
	if len(rest) == 0 || !isHeader(rest) && (m.mode > skipping || !announces(rest) && !isProfile(rest)) {
		return false
	}
	m.finish()
	m.indent = append(m.indent[:0], b[:len(b)-len(rest)]...)
	m.line(b, n)
	return true
}

// chooseDump starts a new dump where the header of m.g cannot belong to the current one.
func (m *machine) chooseDump(gp bool, n int) {
	if n-m.headerLine > maxHeaderAge {
		m.header = ""
	}
	m.otherProfile = false
	form := FormDebug2
	if gp || m.header != "" || m.dump != nil && m.dump.Form == formCrash {
		form = formCrash
	}
	d := m.dump
	if d == nil || m.header != "" || d.Form != form || form == FormDebug2 && m.startsAnother(d) {
		m.newDump(form, n)
	}
	m.dropOrphans()
}

// startsAnother says whether m.g is the first goroutine of a dump behind d: only
// the goroutine that writes a dump is running, and it comes first.
func (m *machine) startsAnother(d *dump) bool {
	if d.seen == 0 {
		return false
	}
	if strings.HasPrefix(m.g.State, "running") {
		return true
	}
	_, repeated := d.ids.find(m.g.ID)
	return repeated
}

func (m *machine) newDump(form Form, n int) {
	m.dump = &dump{
		Dump: Dump{Form: form, Header: m.header, Goroutines: []Goroutine{}},
		line: n,
	}
	if m.orphans > 0 && m.header == "" && n-m.orphanEnd < maxForeign {
		m.dump.Truncated = true
	}
	m.header = ""
	m.text.begin(m.dump)
}
