package goroutines

import "bytes"

// This file reads the text of debug=1, as printCountProfile of runtime/pprof writes it:
//
//	goroutine profile: total 94
//	9 @ 0x49014e 0x46c165 0x1bc58eb 0x497f41
//	# labels: {"key":"value"}
//	#	0x1bc58ea	google.golang.org/grpc/...run+0x10a	/src/callback_serializer.go:88

// profile takes "goroutine profile: total 94". Other profiles ("heap profile:
// ...") have the same shape and are no concern of this package.
func (m *machine) profile(b []byte, n int) bool {
	name, total, ok := bytes.Cut(b, []byte(" profile: "))
	if !ok || bytes.IndexByte(name, ' ') >= 0 || len(name) > 32 {
		return false
	}
	m.finish()
	m.otherProfile = string(name) != "goroutine" && string(name) != "goroutineleak"
	if m.otherProfile {
		return true
	}
	m.header = string(clipTo(b, 200))
	m.newDump(formDebug1, n)
	if v, _, ok := parseInt(bytes.TrimPrefix(total, []byte("total "))); ok {
		m.dump.total = int(v)
	}
	m.dropOrphans()
	return true
}

// isProfile says whether b announces a debug=1 dump.
func isProfile(b []byte) bool { return bytes.HasPrefix(b, []byte("goroutine profile: total ")) }

// stackRecord takes "9 @ 0x49014e 0x46c165".
func (m *machine) stackRecord(b []byte, n int) bool {
	count, rest, ok := parseInt(b)
	if !ok || !bytes.HasPrefix(rest, []byte(" @")) || len(rest) > 2 && !bytes.HasPrefix(rest, []byte(" @ 0x")) {
		return false
	}
	m.finish()
	if m.otherProfile {
		m.mode = skipping
		return true
	}
	m.g.reset()
	m.g.Count = int(min(count, maxCount))
	m.g.Line = n
	if m.dump == nil || m.dump.Form != formDebug1 {
		m.newDump(formDebug1, n)
		m.dump.Truncated = true // its first line is missing
	}
	m.mode = inRecord
	return true
}

// maxCount bounds what one record may claim, so that sums cannot overflow.
const maxCount = 1 << 40

// comment takes a line of a record that starts with '#'.
func (m *machine) comment(b []byte, n int) {
	if labels, ok := bytes.CutPrefix(b, []byte("# labels: ")); ok {
		if m.mode == inRecord {
			m.g.Labels = parseLabels(string(labels))
		}
		return
	}
	if m.mode == skipping {
		return
	}
	f, ok := m.parseComment(b[1:])
	switch {
	case !ok:
		m.stray(b, n)
	case m.mode == inRecord:
		m.g.push(f, nil)
	default:
		m.orphan(n)
	}
}

// parseComment reads "\t0x1bc58ea\tpkg.Func+0x10a\t\t/src/file.go:88". Only the
// address stands there if the runtime does not know the function.
func (m *machine) parseComment(b []byte) (Frame, bool) {
	b = bytes.TrimLeft(b, "\t ")
	address, rest, _ := bytes.Cut(b, []byte{'\t'})
	if bytes.IndexByte(address, ' ') >= 0 { // tabs became spaces
		address, rest, _ = bytes.Cut(b, []byte{' '})
	}
	if !bytes.HasPrefix(address, []byte("0x")) {
		return Frame{}, false
	}
	if _, ok := parseHex(address[2:]); !ok {
		return Frame{}, false
	}
	rest = bytes.Trim(rest, "\t ")
	end := bytes.IndexAny(rest, "\t ")
	if end < 0 {
		end = len(rest)
	}
	name, file := rest[:end], bytes.TrimLeft(rest[end:], "\t ")
	var f Frame
	if i := bytes.LastIndex(name, []byte("+0x")); i > 0 {
		f.Offset, _ = parseHex(name[i+3:])
		name = name[:i]
	}
	if len(name) == 0 {
		name = address
	}
	var ok bool
	if f.Func, ok = m.text.names.function(name); !ok {
		return Frame{}, false
	}
	if loc, ok := splitLocation(file); ok {
		f.File, f.Line = m.text.names.file(loc.file), loc.line
	}
	return f, true
}
