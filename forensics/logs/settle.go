package logs

import (
	"bytes"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

const (
	// retryText stands before the only time with year and zone in most kubelet logs: that of the next attempt, which
	// time.Time.String has written in the kubelet's zone (pkg/util/goroutinemap/exponentialbackoff, nestedpendingoperations).
	retryText = "No retries permitted until "
	// maxRetry is more than the longest delay of the kubelet, 2 min 2 s.
	maxRetry = 5 * time.Minute
	// settleReach is how much later than a time that is known other lines of its log can be.
	settleReach = 180 * 24 * time.Hour
	// maxTried bounds the texts that are looked at, maxPasted their bytes.
	maxTried, maxPasted = 16, 64 << 10
)

// settle finds the year and the zone of lines that have none, by times in the messages at the beginning of the log. It says
// which of them it found. The zone of the options stays if it has the same offset: it may know summer time.
func (p *lineParser) settle(text []byte) (year, zone bool) {
	at, found := p.mentioned(text)
	zone = p.inZone(at, found)
	return p.notAfter(at), zone
}

// inZone takes note of the zone of a kubelet, and says whether it was another.
func (p *lineParser) inZone(at time.Time, found *time.Location) bool {
	if found == nil {
		return false
	}
	_, offset := at.In(found).Zone()
	if _, known := at.In(p.location()).Zone(); known == offset {
		return false
	}
	p.zone = found
	return true
}

// mentioned is a time with a year at the beginning of the log, and the zone that its kubelet names; nothing where there is none.
func (p *lineParser) mentioned(text []byte) (at time.Time, zone *time.Location) {
	if at, found, ok := p.retryTime(text); ok {
		return at, found
	}
	if at, found := twiceTimed(text); found != nil {
		return at, found
	}
	if at := p.firstDated(text); !at.IsZero() {
		return at, nil
	}
	whole := text
	for range maxTried {
		i := bytes.Index(text, []byte(`time="20`)) // logfmt, as containerd and dockerd write it
		if i < 0 {
			break
		}
		if at, end, zoned := p.rfc3339(string(clipBytes(text[i+len(`time="`):], 40))); end > 0 && zoned {
			return at, nil
		}
		text = text[i+1:]
	}
	return lastPasted(whole), nil
}

// timedTwice is a line of syslog, whose time is local, of a runtime, which writes the same time with its zone.
var timedTwice = pattern.New(`(?m)^([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) [^\n]{0,200}? time="(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?([+-]\d\d:\d\d)"`)

// twiceTimed is the time of the first such line at the beginning of a log, and its zone; nil where the two times do not agree.
func twiceTimed(text []byte) (time.Time, *time.Location) {
	m := timedTwice.FindStringSubmatch(string(clipBytes(text, maxPasted)))
	if m == nil {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, m[2]+m[3])
	if err != nil {
		return time.Time{}, nil
	}
	local, err := time.Parse("2006 Jan _2 15:04:05", at.Format("2006 ")+m[1])
	_, offset := at.Zone()
	if d := local.Sub(at.Add(time.Duration(offset) * time.Second).UTC()); err != nil || d < -2*time.Second || d > 2*time.Second {
		return time.Time{}, nil
	}
	return at, time.FixedZone("UTC"+m[3], offset)
}

// pastedTimes are those that kubectl describe and dmesg -T write, which people paste beside a log.
var pastedTimes = pattern.New(`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?:, \d\d ([A-Z][a-z]{2}) (20\d\d) | ([A-Z][a-z]{2}) [ \d]\d \d\d:\d\d:\d\d (20\d\d)\])`)

// lastPasted is the month of the latest of those times at the beginning of a log.
func lastPasted(text []byte) (last time.Time) {
	for _, m := range pastedTimes.FindAllStringSubmatch(string(clipBytes(text, maxPasted)), maxTried*maxTried) {
		if at, err := time.Parse("Jan 2006", m[1]+m[3]+" "+m[2]+m[4]); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}

// firstDated is the time of the first line with year and zone, of those at the beginning.
func (p *lineParser) firstDated(text []byte) time.Time {
	for n := 0; n < maxTried && len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		if e, s := p.parse(string(clipBytes(line, 300))); s.timed && e.API == nil { // an event may have an age alone
			return e.Time
		}
	}
	return time.Time{}
}

// notAfter takes note of a time in the log.
func (p *lineParser) notAfter(at time.Time) bool {
	if at.IsZero() {
		return false
	}
	limit := at.Add(settleReach)
	if !p.latest.IsZero() && !limit.Before(p.latest) {
		return false
	}
	p.latest = limit
	return true
}

// retryTime is the time of a retry that agrees with the clock of its line: it is a little later, in the zone it names.
func (p *lineParser) retryTime(text []byte) (at time.Time, zone *time.Location, ok bool) {
	c := chunk{text: text}
	from := 0
	for range maxTried {
		i := bytes.Index(text[from:], []byte(retryText))
		if i < 0 {
			break
		}
		i += from
		from = i + 1
		at, zone, ok := goTime(string(clipBytes(text[i+len(retryText):], 50)))
		if !ok {
			continue
		}
		trial := *p
		trial.latest, trial.zone = at, zone
		e, s := trial.parse(string(text[c.lineStart(i):c.lineEnd(i)]))
		if after := at.Sub(e.Time); s.guessedYear && after >= -time.Second && after <= maxRetry {
			return at, zone, true
		}
	}
	return time.Time{}, nil, false
}

// goTime reads what time.Time.String writes: "2021-07-28 16:25:21.123456789 +0800 CST m=+7.5".
func goTime(s string) (time.Time, *time.Location, bool) {
	fields := strings.SplitN(s, " ", 4)
	if len(fields) < 4 {
		return time.Time{}, nil, false
	}
	at, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", strings.Join(fields[:3], " "))
	if err != nil {
		return time.Time{}, nil, false
	}
	_, offset := at.Zone()
	if offset == 0 {
		return at, time.UTC, true
	}
	return at, time.FixedZone("UTC"+at.Format("-07:00"), offset), true
}

func clipBytes(b []byte, n int) []byte { return b[:min(n, len(b))] }
