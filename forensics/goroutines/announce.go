package goroutines

import (
	"bytes"
	"strings"
)

// This file knows the lines that stand between goroutines: what announces a
// dump, and what says that a log lost lines.

// maxHeaderAge is how many lines may stand between the announcement of a dump
// and its first goroutine: registers, the stack of the runtime.
const maxHeaderAge = 400

// announces says whether a line starts the dump of a dying program, or of one
// that recovered from a panic and logs it.
func announces(b []byte) bool {
	switch b[0] {
	case 'S':
		return isSignal(b)
	case 'p':
		return bytes.HasPrefix(b, []byte("panic: "))
	case 'f':
		return bytes.HasPrefix(b, []byte("fatal error: "))
	case 'O':
		return bytes.HasPrefix(b, []byte("Observed a panic"))
	case '"':
		return bytes.HasPrefix(b, []byte(`"Observed a panic`))
	case 'h':
		return bytes.HasPrefix(b, []byte("http: panic serving "))
	}
	return false
}

// isSignal knows "SIGABRT: abort", "SIGQUIT: quit", "SIGSEGV: segmentation violation".
func isSignal(b []byte) bool {
	colon := bytes.IndexByte(b, ':')
	if colon < 5 || colon > 10 || len(b) < colon+3 || b[colon+1] != ' ' || !bytes.HasPrefix(b, []byte("SIG")) {
		return false
	}
	for _, c := range b[3:colon] {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// announce remembers the header of the dump that should follow.
func (m *machine) announce(b []byte, n int) {
	if m.relayed {
		m.relayed = false // the signal that one thread sent to the next
		return
	}
	if m.header != "" && n-m.headerLine < maxHeaderAge && b[0] != 'S' {
		return // "fatal error:" behind "panic:": the first one says why
	}
	m.header, m.headerLine = string(clipTo(b, 1024)), n
}

// gapUnit recognises what journald and rsyslog write when they drop lines, and
// returns the unit it was about, if they say so.
func gapUnit(b []byte) (unit string, ok bool) {
	if bytes.HasPrefix(b, []byte("Suppressed ")) && bytes.Contains(b, []byte(" messages from ")) {
		_, name, _ := bytes.Cut(b, []byte(" messages from "))
		unit = strings.TrimSuffix(strings.TrimSpace(string(name)), ".service")
		return unit[strings.LastIndexByte(unit, '/')+1:], true
	}
	if bytes.HasPrefix(b, []byte("Suppressed ")) && bytes.HasSuffix(bytes.TrimRight(b, " ."), []byte(" messages")) {
		return "", true
	}
	return "", len(b) < 300 && bytes.Contains(b, []byte("rate-limiting"))
}
