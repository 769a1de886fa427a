package logs

import (
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/logline"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// priority reads what follows "<N>": a message of RFC 5424 or RFC 3164, or a line of the kernel's ring as dmesg -r
// writes it.
func (p *lineParser) priority(e *entry, s *shape, text string) (string, bool) {
	level, n := leadingDigits(text[1:])
	if n == 0 || n > 3 || len(text) < n+3 || text[n+1] != '>' {
		return text, false
	}
	e.Severity = severity(int(level & 7))
	rest := strings.TrimPrefix(text[n+2:], " ")
	if rest == "" {
		return text, false
	}
	if strings.HasPrefix(rest, "1 ") {
		if inner, ok := p.rfc5424(e, s, rest[2:]); ok {
			return inner, true
		}
	}
	if rest[0] == '[' {
		return p.dmesg(e, s, rest)
	}
	return p.dated(e, s, rest)
}

// rfc5424 reads "TIMESTAMP HOST APP PROCID MSGID STRUCTURED-DATA MSG".
func (p *lineParser) rfc5424(e *entry, s *shape, text string) (string, bool) {
	t, end, zoned := p.rfc3339(text)
	if end == 0 || end >= len(text) || text[end] != ' ' {
		return text, false
	}
	var words [4]string // host, app, procid, msgid
	rest := text[end+1:]
	for i := range words {
		var ok bool
		if words[i], rest, ok = strings.Cut(rest, " "); !ok {
			return text, false
		}
	}
	if rest = structuredData(rest); rest == "" {
		return text, false
	}
	s.stamp(e, t, zoned)
	s.push(layerSyslog)
	p.writer(e, words[1], words[2])
	e.on(words[0], true)
	return strings.TrimPrefix(strings.TrimPrefix(rest, " "), "\ufeff"), true
}

// structuredData steps over "-" or "[id key="value"]…".
func structuredData(s string) string {
	if strings.HasPrefix(s, "-") {
		return s[1:]
	}
	for strings.HasPrefix(s, "[") {
		end, quoted := -1, false
		for i := 1; i < len(s) && end < 0; i++ {
			switch {
			case s[i] == '\\':
				i++
			case s[i] == '"':
				quoted = !quoted
			case s[i] == ']' && !quoted:
				end = i
			}
		}
		if end < 0 {
			return ""
		}
		s = s[end+1:]
	}
	return s
}

// writer notes who wrote a line, unless a prefix further out has said so.
func (p *lineParser) writer(e *entry, name, pid string) {
	if e.Origin == "" && name != "-" {
		e.Origin = program(name)
	}
	supervisor := strings.HasPrefix(name, "rke2") // starts the kubelet as a process of its own
	if n, end := leadingDigits(pid); e.PID == 0 && end > 0 && end == len(pid) && !supervisor {
		e.PID = int(n)
	}
}

// dated reads the traditional form, RFC 3164, in which also journalctl -o short and -o short-precise write, and the
// forms of -o short-full and -o with-unit:
//
//	Nov 21 10:00:00.123456 host kubelet[2588]: message
//	Sat 2026-11-21 10:00:00 UTC host kubelet[2588]: message
func (p *lineParser) dated(e *entry, s *shape, text string) (string, bool) {
	if isWeekday(text) && len(text) > 30 && text[4] == '2' {
		return p.full(e, s, text)
	}
	month, ok := logline.Month(text)
	if !ok || len(text) < 16 || text[3] != ' ' {
		return text, false
	}
	rest := strings.TrimLeft(text[4:], " ")
	day, n := leadingDigits(rest)
	if n == 0 || n > 2 || day < 1 || day > 31 || len(rest) < n+10 || rest[n] != ' ' {
		return text, false
	}
	rest = rest[n+1:]
	if year, n := leadingDigits(rest); n == 4 && len(rest) > 14 && rest[4] == ' ' { // as some syslog daemons write it
		hour, minute, second, nanos, end, ok := clock(rest[5:])
		if !ok {
			return text, false
		}
		s.guessedZone = !s.timed
		s.stamp(e, time.Date(int(year), month, int(day), hour, minute, second, nanos, p.location()), false)
		return p.tagged(e, s, rest[5+end:])
	}
	hour, minute, second, nanos, end, ok := clock(rest)
	if !ok {
		return text, false
	}
	if !s.timed {
		s.guessedYear, s.guessedZone = true, true
		s.stamp(e, p.undated(month, int(day), hour, minute, second, nanos), false)
	}
	return p.tagged(e, s, rest[end:])
}

// full reads a date with weekday and a zone by its name. Only UTC is known; others are taken as the node's.
func (p *lineParser) full(e *entry, s *shape, text string) (string, bool) {
	local := *p
	zone := text[4:]
	_, end, _ := p.rfc3339(zone)
	if end == 0 || end >= len(zone) || zone[end] != ' ' {
		return text, false
	}
	name, rest, ok := strings.Cut(zone[end+1:], " ")
	if !ok {
		return text, false
	}
	if name == "UTC" || name == "GMT" {
		local.zone = time.UTC
	} else {
		s.guessedZone = !s.timed
	}
	t, _, _ := local.rfc3339(zone)
	s.stamp(e, t, true)
	return p.tagged(e, s, " "+rest)
}

// tagged reads " host tag[pid]: message". Busybox puts "facility.level" before the tag, and a relay may leave out the
// host.
func (p *lineParser) tagged(e *entry, s *shape, text string) (string, bool) {
	s.push(layerSyslog)
	rest := strings.TrimLeft(text, " ")
	host, after, ok := strings.Cut(rest, " ")
	if !ok {
		return rest, true
	}
	if name, pid, message, ok := tag(rest); ok && strings.HasSuffix(host, ":") {
		p.writer(e, name, pid)
		return p.kernelClock(e, message), true
	}
	after = strings.TrimLeft(after, " ")
	if word, more, ok := strings.Cut(after, " "); ok && strings.Contains(word, ".") && !strings.ContainsAny(word, ":[") {
		after = more
	}
	name, pid, message, ok := tag(after)
	if !ok {
		return after, true
	}
	p.writer(e, name, pid)
	e.on(host, pid != "" || name == "kernel")
	return p.kernelClock(e, message), true
}

// on notes the name of the machine, unless a prefix further out has done so.
func (e *entry) on(host string, sure bool) {
	if e.Host == "" && host != "" && host != "-" {
		e.Host, e.HostSure = host, sure
	}
}

// tag reads "name[pid]: message".
func tag(s string) (name, pid, message string, ok bool) {
	end := strings.IndexAny(s[:min(len(s), 128)], ":[ ")
	if end <= 0 || s[end] == ' ' {
		return "", "", "", false
	}
	name = s[:end]
	if s[end] == '[' {
		closing := strings.IndexByte(s[end:min(len(s), end+24)], ']')
		if closing < 0 {
			return "", "", "", false
		}
		pid = s[end+1 : end+closing]
		end += closing + 1
	}
	if end >= len(s) || s[end] != ':' {
		return "", "", "", false
	}
	return name, pid, strings.TrimPrefix(s[end+1:], " "), true
}

// kernelClock takes off the "[  123.456789] " that syslog daemons leave before messages of the kernel.
func (p *lineParser) kernelClock(e *entry, message string) string {
	if e.Origin == "kernel" && strings.HasPrefix(message, "[") {
		if _, rest, ok := p.ring(message); ok {
			message = rest
		}
	}
	return message
}

// numbered reads what begins with a digit: a container's log, a time of RFC 3339 or of journalctl -o short-unix, or a
// record of /dev/kmsg.
func (p *lineParser) numbered(e *entry, s *shape, text string) (string, bool) {
	if i := strings.IndexByte(text, '('); 0 < i && i < 80 && s.depth == 0 && strings.HasPrefix(text[i:], "(durationBeforeRetry ") {
		return "Operation for … failed. " + retryText + text, true // somebody has cut off the beginning
	}
	if t, end, zoned := p.rfc3339(text); end > 0 && end < len(text) && (text[end] == ' ' || text[end] == '\t') { // the TAB of a table of Loki
		return p.stamped(e, s, text, t, end, zoned)
	}
	if _, _, _, _, end, ok := clock(text); ok && end < len(text) && text[end] == ' ' { // somebody has cut off the date
		if _, after, ok := strings.Cut(text[end+1:], " "); ok {
			if _, _, _, ok := tag(after); ok {
				return p.tagged(e, s, text[end:])
			}
		}
		if rest, ok := tagged(e, s, text[end+1:]); ok { // and the host
			return rest, true
		}
	}
	if inner, ok := p.kmsg(e, s, text); ok {
		return inner, true
	}
	if since, end := bootSeconds(text); end == len("1795251602.000001") && strings.HasPrefix(text[end:], " ") { // journalctl -o short-unix
		s.stamp(e, time.Unix(0, int64(since)).UTC(), true)
		return p.tagged(e, s, text[end:])
	}
	for i := 8; i < min(len(text)-22, 40); i++ { // a date as a console has written it: "5/24/2018 4:45:11 PM E0524 …", of which a copy may lack the TAB
		if c := text[i-1]; !strings.ContainsRune("0123456789/:.,-+ APMTZ", rune(c)) {
			break
		} else if (c == ' ' || c == 'M') && (isKlogHead(text[i:]) || strings.HasPrefix(text[i:], `time="`)) {
			s.push(layerStamped)
			return text[i:], true
		}
	}
	return text, false
}

// stamped reads what follows a time: "stderr F message" of the CRI, "host tag: message", or a message.
func (p *lineParser) stamped(e *entry, s *shape, text string, t time.Time, end int, zoned bool) (string, bool) {
	s.guessedZone = s.guessedZone || !s.timed && !zoned
	s.stamp(e, t, zoned)
	rest := text[end+1:]
	if stream, partial, message, ok := logline.CRI(rest); ok {
		s.push(layerCRI)
		s.partial, s.stream = partial, stream[3]
		return message, true
	}
	if strings.Contains(text[:end], ",") { // only dmesg --time-format iso writes a comma
		s.push(layerDmesg)
		return rest, true
	}
	if text[end] == '\t' {
		if message, ok := s.zap(e, rest); ok {
			return message, true
		}
	}
	if withoutPriority(rest) {
		if inner, ok := p.rfc5424(e, s, text); ok {
			return strings.TrimLeft(inner, " "), true
		}
	}
	if _, after, ok := strings.Cut(rest, " "); ok {
		if _, _, _, ok := tag(after); ok && !isKlogHead(rest) {
			return p.tagged(e, s, " "+rest)
		}
	}
	s.push(layerStamped)
	return rest, true
}

// ofTalos is how "talosctl dmesg" begins a line: the node, of which it may ask one only, facility and level, and a time.
var ofTalos = pattern.New(`^(?:(\S{1,64}):)? *(kern|user|daemon|syslog|auth|authpriv|cron|local\d): +(emerg|alert|crit|err|warning|notice|info|debug): +\[(\d{4}-\d\d-\d\dT[\d:.]+Z)\]: ?`)

func (p *lineParser) talos(e *entry, s *shape, text string) (string, bool) {
	m := ofTalos.FindStringSubmatch(text)
	t, _, zoned := p.rfc3339(m[4])
	if t.IsZero() {
		return text, false
	}
	s.stamp(e, t, zoned)
	s.push(layerDmesg)
	s.head = true
	e.on(m[1], true)
	if e.Origin = "kernel"; m[2] != "kern" { // a service of the system writes into the same log
		e.Origin = ofApplication
	}
	return ofInit(e, text[len(m[0]):]), true
}

// ofTalosInit is the first process of Talos, which starts the kubelet, and writes into the kernel's log.
const ofTalosInit = "talos"

// ofInit takes the name of Talos' first process off its message.
func ofInit(e *entry, text string) string {
	if rest, ok := strings.CutPrefix(text, "[talos] service["); ok {
		e.Origin = ofTalosInit
		return "service[" + rest
	}
	if rest, ok := strings.CutPrefix(text, "[talos] controller failed {"); ok {
		e.Origin = ofTalosInit
		return "controller failed {" + rest
	}
	return text
}

// withoutPriority says whether what follows a time is "HOST APP PROCID - STRUCTURED-DATA", as in files of RFC 5424.
func withoutPriority(text string) bool {
	words := strings.SplitN(text, " ", 6)
	if len(words) < 6 || words[3] != "-" || words[4] != "-" && !strings.HasPrefix(words[4], "[") {
		return false
	}
	_, n := leadingDigits(words[2])
	return words[2] == "-" || n > 0 && n == len(words[2])
}

// kmsg reads a record of /dev/kmsg: "level,sequence,microseconds,flags;message" (Documentation/ABI/testing/dev-kmsg).
func (p *lineParser) kmsg(e *entry, s *shape, text string) (string, bool) {
	head, _, ok := strings.Cut(text[:min(len(text), 128)], ";")
	parts := strings.Split(head, ",")
	if !ok || len(parts) < 4 {
		return text, false
	}
	level, n1 := leadingDigits(parts[0])
	_, n2 := leadingDigits(parts[1])
	micros, n3 := leadingDigits(parts[2])
	if n1 == 0 || n1 != len(parts[0]) || n2 == 0 || n3 == 0 || n3 != len(parts[2]) {
		return text, false
	}
	message := text[len(head)+1:]
	s.push(layerKmsg)
	s.head = true
	e.Severity = severity(int(level & 7))
	if level>>3 == 0 {
		e.Origin = "kernel"
	} else if name, pid, inner, ok := tag(message); ok { // a daemon wrote to the ring
		p.writer(e, name, pid)
		message = inner
	}
	s.stamp(e, p.sinceBoot(time.Duration(micros)*time.Microsecond), true)
	return message, true
}

// humanTime is what dmesg -H writes: the day and the time of day, or how long after the message above, with the decimal mark of the locale.
var humanTime = pattern.New(`^\[(?: *\+\d+[.,]\d{6}|[^\s\d\[\]]{3,8} ?\d{1,2} \d\d:\d\d)\] `)

// dmesg reads "[  123.456789] message" and, of dmesg -T, "[Sat Nov 21 10:00:00 2026] message".
func (p *lineParser) dmesg(e *entry, s *shape, text string) (string, bool) {
	if since, rest, ok := p.ring(text); ok {
		s.stamp(e, p.sinceBoot(since), true)
		if e.Time.IsZero() {
			e.Uptime = since
		}
		s.push(layerDmesg)
		return ofInit(e, rest), true
	}
	if of := humanTime.FindString(text); of != "" {
		s.push(layerDmesg)
		return text[len(of):], true
	}
	if len(text) < 27 || !isWeekday(text[1:]) || text[25] != ']' {
		return text, false
	}
	t, err := time.ParseInLocation("Mon Jan _2 15:04:05 2006", text[1:25], p.location())
	if err != nil {
		return text, false
	}
	s.guessedZone = s.guessedZone || !s.timed
	s.stamp(e, t, false)
	s.push(layerDmesg)
	return strings.TrimPrefix(text[26:], " "), true
}

// ring reads "[  123.456789] ", with "[ T1234]" behind it where the kernel tells the caller (CONFIG_PRINTK_CALLER).
func (p *lineParser) ring(text string) (since time.Duration, rest string, ok bool) {
	inner := strings.TrimLeft(text[1:], " ")
	since, n := bootSeconds(inner)
	if n == 0 || n >= len(inner) || inner[n] != ']' {
		return 0, text, false
	}
	rest = strings.TrimPrefix(inner[n+1:], " ")
	if strings.HasPrefix(rest, "[") {
		if end := strings.IndexByte(rest[:min(len(rest), 12)], ']'); end > 0 {
			if caller := strings.TrimLeft(rest[1:end], " "); caller != "" && (caller[0] == 'T' || caller[0] == 'C') {
				rest = strings.TrimPrefix(rest[end+1:], " ")
			}
		}
	}
	return since, rest, true
}

// decoded reads "kern  :info  : [  123.456789] message", as dmesg -x writes it, and "kern:    info: [2026-11-21T10:00:00.123Z]: message", as
// talosctl dmesg does.
func (p *lineParser) decoded(e *entry, s *shape, text string) (string, bool) {
	_, rest, ok := strings.Cut(text[:min(len(text), 64)], ": [")
	if !ok {
		return text, false
	}
	if at := text[len(text[:min(len(text), 64)])-len(rest):]; strings.HasPrefix(text, "kern: ") {
		t, end, zoned := p.rfc3339(at)
		message, ok := strings.CutPrefix(at[end:], "]: ")
		if end == 0 || !ok {
			return text, false
		}
		s.stamp(e, t, zoned)
		s.push(layerDmesg)
		return message, true
	}
	return p.dmesg(e, s, text[len(text[:min(len(text), 64)])-len(rest)-1:])
}
