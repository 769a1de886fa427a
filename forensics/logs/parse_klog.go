package logs

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// isKlogHead says whether text begins as klog and glog do: "Lmmdd hh:mm:ss".
func isKlogHead(text string) bool {
	if len(text) < 22 || text[5] != ' ' || text[8] != ':' || text[11] != ':' || text[14] != '.' {
		return false
	}
	switch text[0] {
	case 'I', 'W', 'E', 'F', 'D':
	default:
		return false
	}
	_, ok := digits(text, 1, 4)
	return ok
}

// klog reads a header
//
//	Lmmdd hh:mm:ss.uuuuuu threadid file:line] msg
//
// (k8s.io/klog, Header) and the message behind it. The time is local and lacks the year; the thread is the process.
func (p *lineParser) klog(e *entry, s *shape, text string) bool {
	if !isKlogHead(text) {
		return false
	}
	month, _ := digits(text, 1, 2)
	day, _ := digits(text, 3, 2)
	hour, minute, second, nanos, n, ok := clock(text[6:])
	if !ok || month < 1 || month > 12 || day < 1 || day > 31 {
		return false
	}
	rest := strings.TrimLeft(text[6+n:], " ")
	pid, n := leadingDigits(rest)
	if n == 0 || n >= len(rest) || rest[n] != ' ' {
		return false
	}
	rest = strings.TrimLeft(rest[n:], " ")
	where, message, ok := strings.Cut(rest, "]")
	if !ok || len(where) > 256 {
		return false
	}
	if !s.timed {
		s.guessedYear, s.guessedZone = true, true
		s.stamp(e, p.undated(time.Month(month), day, hour, minute, second, nanos), false)
	}
	s.push(layerKlog)
	e.Severity = text[0]
	if text[0] == 'D' {
		e.Severity = 'I'
	}
	e.PID = int(pid)
	e.source(where)
	e.Message = strings.TrimPrefix(message, " ")
	return true
}

// source takes "dir/file.go:123" apart.
func (e *entry) source(where string) {
	file, line, _ := strings.Cut(where[strings.LastIndexByte(where, '/')+1:], ":")
	n, end := leadingDigits(line)
	e.Source = file
	if end > 0 && end == len(line) {
		e.SourceLine = int(n)
	}
}

// message makes a structured message of text where it is one: a quoted string and keys with values behind it. The
// rest are later lines of the message.
func (e *entry) message(text string, rest []string) {
	e.Message = text
	if strings.HasPrefix(text, `"`) {
		if end := wholeQuoted(text); end > 0 && isKey(text[end:]) {
			e.Message = unquote(text[:end])
			e.fields(text[end:], rest)
			return
		}
	}
	if len(rest) > 0 {
		e.Message = text + "\n" + strings.Join(rest, "\n")
	}
}

// isKey says whether text is a blank, a key and an equals sign.
func isKey(text string) bool {
	trimmed := strings.TrimLeft(text, " ")
	if trimmed == "" {
		return true
	}
	end := strings.IndexAny(trimmed, `= "`)
	return len(trimmed) < len(text) && end > 0 && trimmed[end] == '='
}

// maxFields is far more than any message has.
const maxFields = 64

// fields reads the keys and values behind a structured message.
func (e *entry) fields(text string, rest []string) {
	for len(e.Fields) < maxFields {
		text = strings.TrimLeft(text, " ")
		key, after, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return
		}
		var value string
		if strings.TrimRight(after, " ") == "<" && len(rest) > 0 {
			value, text, rest = indented(rest)
		} else {
			value, text = fieldValue(after)
		}
		e.Fields = append(e.Fields, field{key, value})
	}
}

// indented reads a value of several lines, each indented by a TAB and the last followed by " >", with which further keys
// may share the line.
func indented(lines []string) (value, text string, rest []string) {
	var b strings.Builder
	for i, line := range lines {
		if after, ok := strings.CutPrefix(strings.TrimLeft(line, " "), ">"); ok && !strings.HasPrefix(line, "\t") {
			return b.String(), after, lines[i+1:]
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimPrefix(line, "\t"))
	}
	return b.String(), "", nil
}

// fieldValue reads one value: quoted, in brackets, or up to the blank before the next key.
func fieldValue(s string) (value, rest string) {
	if strings.HasPrefix(s, `"`) {
		end := wholeQuoted(s)
		if end < 0 { // the line was cut
			return s[1:], ""
		}
		return unquote(s[:end]), s[end:]
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
		case '"':
			if end := quotedEnd(s[i:]); end > 0 {
				i += end - 1
			}
		case ' ':
			if depth <= 0 && isKey(s[i:]) {
				return s[:i], s[i:]
			}
		}
	}
	return s, ""
}

// quotedEnd is where the quoted string ends that s begins with, -1 if it does not.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
}

// wholeQuoted is quotedEnd of a value. Behind it is the next key, or nothing: where it is something else, a web page has taken the
// backslashes from the quotes within.
func wholeQuoted(s string) int {
	first := quotedEnd(s)
	for end := first; end > 0; {
		if isKey(s[end:]) {
			return end
		}
		next := quotedEnd(s[end-1:])
		if next < 0 {
			break
		}
		end += next - 1
	}
	return first
}

// unquote undoes Go's %q, without a copy where nothing is escaped.
func unquote(quoted string) string {
	inner := quoted[1 : len(quoted)-1]
	first := strings.IndexByte(inner, '\\')
	if first < 0 {
		return inner
	}
	var b strings.Builder
	b.Grow(len(inner))
	for {
		b.WriteString(inner[:first])
		switch c := inner[first+1]; c {
		case '"', '\\':
			b.WriteByte(c)
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		default: // control characters and what is no UTF-8
			if text, err := strconv.Unquote(quoted); err == nil {
				return text
			}
			b.WriteString(inner[first : first+2])
		}
		inner = inner[first+2:]
		if first = strings.IndexByte(inner, '\\'); first < 0 {
			b.WriteString(inner)
			return b.String()
		}
	}
}

// logfmt reads lines of logrus, in which k3s, containerd and docker write: time="…" level=info msg="…" key=value. Some people leave out
// the time.
func (p *lineParser) logfmt(e *entry, s *shape, text string) (string, bool) {
	var line entry
	line.fields(text, nil)
	at := line.Get("time")
	if at == "" {
		if at = line.Get("ts"); at != "" && e.Origin == "" { // of the logger of go-kit
			e.Origin = ofApplication
		}
	}
	t, _, zoned := p.rfc3339(at)
	level := line.Get("level")
	if t.IsZero() != (at == "") || level == "" || line.Get("msg") == "" && t.IsZero() {
		return text, false
	}
	if !t.IsZero() {
		s.stamp(e, t, zoned)
	}
	if component, message := line.Get("component"), line.Get("msg"); component != "" && (isKlogHead(message) || strings.HasPrefix(message, `time="`)) {
		s.push(layerStamped) // by k0s, which starts the programs of a node and logs what they write
		if e.Origin == "" {
			e.Origin = program(component)
		}
		return message, true
	}
	s.push(layerLogfmt)
	s.head = true
	if e.Severity = logrusLevels[strings.ToUpper(level[:min(len(level), 4)])]; e.Severity == 0 {
		e.Severity = 'I'
	}
	e.Message = line.Get("msg")
	for _, f := range line.Fields {
		if f.Key != "time" && f.Key != "ts" && f.Key != "level" && f.Key != "msg" {
			e.Fields = append(e.Fields, f)
		}
	}
	return e.Message, true
}

// zap reads what the library of that name writes to a console: a level, and mostly the name of a logger and where in the code, then the message
// and perhaps fields as JSON, with TABs between.
func (s *shape) zap(e *entry, text string) (string, bool) {
	columns := strings.Split(text, "\t")
	level := strings.ToUpper(columns[0])
	if len(columns) < 2 || len(level) < 4 || len(level) > 6 || logrusLevels[level[:4]] == 0 {
		return text, false
	}
	s.push(layerLogfmt)
	s.head = true
	e.Severity = logrusLevels[level[:4]]
	if e.Origin == "" {
		e.Origin = ofApplication
	}
	n := len(columns) - 1
	var fields struct{ Error string }
	if n > 1 && json.Unmarshal([]byte(columns[n]), &fields) == nil {
		n--
	}
	if e.Message = columns[n]; fields.Error != "" {
		e.Fields = append(e.Fields, field{"err", fields.Error})
	}
	return e.Message, true
}

// logrusLevels are the levels of logrus, cut as it writes them to a terminal.
var logrusLevels = map[string]byte{"TRAC": 'I', "DEBU": 'I', "INFO": 'I', "WARN": 'W', "ERRO": 'E', "FATA": 'F', "PANI": 'F'}

// logrus reads what logrus writes to a terminal: `ERRO[0012] message` of crictl and dockerd, `INFO[2022-03-21T12:38:02.4+08:00] message`
// of containerd. Fields are behind the message.
func (p *lineParser) logrus(e *entry, s *shape, text string) (string, bool) {
	at, _, ok := strings.Cut(text[5:min(len(text), 48)], "]")
	if t, _, zoned := p.rfc3339(at); !t.IsZero() {
		s.stamp(e, t, zoned)
	} else if _, n := leadingDigits(at); n < 4 || n != len(at) {
		return text, false
	}
	if !ok {
		return text, false
	}
	s.push(layerLogfmt)
	s.head = true
	e.Severity = logrusLevels[text[:4]]
	e.Message = strings.TrimSpace(text[5+len(at)+1:])
	if key, _, ok := strings.Cut(e.Message, "="); ok {
		if before, name, ok := cutLast(key, ' '); ok && name != "" && before != "" {
			e.fields(e.Message[len(before):], nil)
			e.Message = strings.TrimRight(before, " ")
		}
	}
	return e.Message, true
}
