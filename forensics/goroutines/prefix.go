package goroutines

import (
	"bytes"

	"github.com/nodeforensics/nodeforensics/internal/logline"
)

// record is a log line taken apart.
type record struct {
	source  []byte // who wrote it: "host kubelet[123]", "stderr"; empty: unknown
	text    []byte // the message
	klog    byte   // I, W, E or F if the message had a klog header, which text lacks
	partial bool   // the next record of the same source goes on with the same line
}

// mayBePrefix holds the characters a log prefix can start with. Almost no line
// of a dump starts with one of them, so that a plain dump pays next to nothing.
var mayBePrefix = prefixStarts()

func prefixStarts() (t [256]bool) {
	for c := 'A'; c <= 'Z'; c++ {
		t[c] = true
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	t['<'], t['{'], t[' '] = true, true, true
	return t
}

// cutPrefix takes a log prefix off b: those of journalctl (all text outputs),
// syslog (RFC 3164 and 5424), CRI, kubectl logs --timestamps, and klog, the
// latter alone or behind another. It is false if there is none.
func cutPrefix(b []byte) (record, bool) {
	rec := record{text: b}
	rest := cutPriority(b)
	rest, stamped := cutTime(rest)
	if stamped {
		rec.text = rest
		if !rec.cutCRI() {
			rec.cutTag()
		}
	}
	if severity, text, ok := cutKlog(rec.text); ok {
		rec.klog, rec.text = severity, text
	}
	return rec, stamped || rec.klog != 0
}

// cutPriority takes "<30>" or "<30>1 " off (RFC 3164, 5424).
func cutPriority(b []byte) []byte {
	if len(b) < 3 || b[0] != '<' {
		return b
	}
	_, rest, ok := parseInt(b[1:])
	if !ok || len(rest) == 0 || rest[0] != '>' {
		return b
	}
	return bytes.TrimPrefix(rest[1:], []byte("1 "))
}

// cutTime takes a time stamp and the space behind it off.
func cutTime(b []byte) ([]byte, bool) {
	if len(b) < 15 {
		return b, false
	}
	switch {
	case isDate(b):
		return cutISO(b)
	case b[3] == ' ' && b[6] == ' ' && isMonth(b): // May  2 10:00:02[.123456]
		return cutClock(b[7:])
	case b[3] == ' ' && isDate(b[4:]): // Sun 2024-05-12 10:00:02 UTC
		return cutISO(b[4:])
	case b[2] == ':' && b[5] == ':': // 10:00:02 host kubelet[7]: where somebody has cut off the date
		if rest, ok := cutClock(b); ok && hasTag(rest) {
			return rest, true
		}
	}
	return cutUnix(b)
}

// isDate says whether b starts with 2024-05-12.
func isDate(b []byte) bool {
	return len(b) >= 11 && b[4] == '-' && b[7] == '-' && digits(b[:4]) && digits(b[5:7]) && digits(b[8:10])
}

func isMonth(b []byte) bool {
	_, ok := logline.Month(b)
	return ok
}

// cutISO takes 2024-05-12T10:00:02.123Z, ...+0200, or with a space and a zone "UTC" off.
func cutISO(b []byte) ([]byte, bool) {
	sep := b[10]
	if sep != 'T' && sep != ' ' {
		return b, false
	}
	rest, ok := cutClock(b[11:])
	if ok && sep == ' ' {
		if i := bytes.IndexByte(rest, ' '); i > 0 && i <= 5 && isZone(rest[:i]) {
			rest = rest[i+1:]
		}
	}
	return rest, ok
}

func isZone(b []byte) bool {
	for _, c := range b {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}

// cutClock takes 10:00:02, a fraction and an offset off, up to the space.
func cutClock(b []byte) ([]byte, bool) {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' || !digits(b[:2]) || !digits(b[3:5]) || !digits(b[6:8]) {
		return b, false
	}
	i := 8
	for i < len(b) && b[i] != ' ' {
		if c := b[i]; (c < '0' || c > '9') && c != '.' && c != ',' && c != 'Z' && c != '+' && c != '-' && c != ':' {
			return b, false
		}
		i++
	}
	if i == len(b) {
		return b[i:], true
	}
	return b[i+1:], true
}

// cutUnix takes 1715508002.123456 off (journalctl -o short-unix).
func cutUnix(b []byte) ([]byte, bool) {
	if len(b) < 18 || b[10] != '.' || !digits(b[:10]) || !digits(b[11:17]) || b[17] != ' ' {
		return b, false
	}
	return b[18:], true
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// cutCRI takes "stderr F " off, see [logline.CRI].
func (r *record) cutCRI() bool {
	stream, partial, message, ok := logline.CRI(r.text)
	if ok {
		r.source, r.partial, r.text = stream, partial, message
	}
	return ok
}

const maxTag = 160

// hasTag says whether b begins with "host ident: " or "ident[pid]: ".
func hasTag(b []byte) bool {
	r := record{text: b}
	r.cutTag()
	return len(r.source) > 0
}

// cutTag takes "host ident[pid]: " off, or the "host app pid msgid - " of RFC 5424. Of a line without a host it takes "ident[pid]: ".
func (r *record) cutTag() {
	if end := bytes.Index(r.text[:min(len(r.text), maxTag)], []byte("]: ")); end > 0 {
		ident, pid, ok := bytes.Cut(r.text[:end], []byte("["))
		if ok && len(ident) > 0 && bytes.IndexByte(ident, ' ') < 0 && len(pid) > 0 && digits(pid) {
			r.source, r.text = r.text[:end+1], r.text[end+len("]: "):]
			return
		}
	}
	host := bytes.IndexByte(r.text, ' ')
	if host <= 0 || host > maxTag {
		return
	}
	if word := r.text[:host]; bytes.HasSuffix(word, []byte("]:")) && bytes.IndexByte(word, '[') > 0 { // somebody has cut off the host
		r.source, r.text = word[:host-1], r.text[host+1:]
		return
	}
	if bytes.IndexByte(r.text[:host], ':') >= 0 {
		return
	}
	tag := r.text[host+1:]
	end := bytes.IndexByte(tag, ' ')
	if end < 0 {
		end = len(tag)
	}
	if end >= 2 && end <= maxTag && tag[end-1] == ':' && string(tag[:end]) != "profile:" {
		r.source = r.text[:host+end]
		r.text = tag[min(end+1, len(tag)):]
		return
	}
	r.cut5424(host, tag)
}

// cut5424 knows "app pid msgid - text" with nil or no structured data.
func (r *record) cut5424(host int, tag []byte) {
	rest := tag
	var end int
	for range 3 {
		i := bytes.IndexByte(rest, ' ')
		if i <= 0 || i > maxTag {
			return
		}
		end += i + 1
		rest = rest[i+1:]
	}
	if len(rest) >= 2 && rest[0] == '-' && rest[1] == ' ' {
		r.source = r.text[:host+end]
		r.text = rest[2:]
	}
}

// cutKlog takes "E0512 10:00:02.000001    2588 file.go:154] " off.
func cutKlog(b []byte) (severity byte, text []byte, ok bool) {
	if len(b) < 30 || b[5] != ' ' || !digits(b[1:5]) {
		return 0, b, false
	}
	switch b[0] {
	case 'I', 'W', 'E', 'F':
	default:
		return 0, b, false
	}
	if _, ok := cutClock(b[6:]); !ok {
		return 0, b, false
	}
	i := bytes.Index(b, []byte("] "))
	if i < 0 {
		return 0, b, false
	}
	return b[0], b[i+2:], true
}
