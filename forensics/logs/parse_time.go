package logs

import (
	"strings"
	"time"
)

// stamp notes a time that a layer told. One with year and zone is kept, the outermost. Of those that lack one the
// innermost counts, since it is finer, unless it differs by what only another time zone explains.
func (s *shape) stamp(e *entry, t time.Time, sure bool) {
	switch {
	case t.IsZero() || s.timed:
	case sure:
		e.Time, s.timed, s.guessedYear, s.guessedZone = t, true, false, false
	case e.Time.IsZero() || t.Sub(e.Time).Abs() < 10*time.Minute:
		e.Time = t
	}
}

// clockPatience is how much later than the present of one clock the times of another may be.
const clockPatience = 25 * time.Hour

// undated makes a time of one without a year, in the node's zone: the latest that is not in the future. Clocks may
// differ, hence the day of patience.
func (p *lineParser) undated(month time.Month, day, hour, minute, second, nanos int) time.Time {
	limit := p.latest.Add(clockPatience)
	year := limit.In(p.location()).Year()
	for range 9 {
		t := time.Date(year, month, day, hour, minute, second, nanos, p.location())
		if !t.After(limit) && t.Month() == month { // the 29th of February is not in every year
			return t
		}
		year--
	}
	return time.Time{}
}

// digits reads a number of exactly n digits.
func digits(s string, i, n int) (int, bool) {
	if i < 0 || i+n > len(s) {
		return 0, false
	}
	v := 0
	for _, c := range []byte(s[i : i+n]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int(c-'0')
	}
	return v, true
}

// leadingDigits reads the digits that s begins with; end is 0 if there are none or too many.
func leadingDigits(s string) (v int64, end int) {
	for end < len(s) && end < 18 && s[end] >= '0' && s[end] <= '9' {
		v = v*10 + int64(s[end]-'0')
		end++
	}
	if end == 18 {
		return 0, 0
	}
	return v, end
}

// clock reads "hh:mm:ss", with a fraction of any length behind a dot or comma.
func clock(s string) (hour, minute, second, nanos, end int, ok bool) {
	if len(s) < 8 || s[2] != ':' || s[5] != ':' {
		return 0, 0, 0, 0, 0, false
	}
	hour, ok1 := digits(s, 0, 2)
	minute, ok2 := digits(s, 3, 2)
	second, ok3 := digits(s, 6, 2)
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 60 {
		return 0, 0, 0, 0, 0, false
	}
	end = 8
	if end < len(s) && (s[end] == '.' || s[end] == ',') {
		nanos, end = fraction(s, end+1)
	}
	return hour, minute, second, nanos, end, true
}

// fraction reads the digits of a fraction of a second that begin at i, as nanoseconds.
func fraction(s string, i int) (nanos, end int) {
	unit := 100_000_000
	for end = i; end < len(s) && s[end] >= '0' && s[end] <= '9'; end++ {
		nanos += int(s[end]-'0') * unit
		unit /= 10
	}
	return nanos, end
}

// rfc3339 reads "2026-11-21T10:00:00.123+01:00"; the zone may lack its colon, as journalctl -o short-iso writes it, or
// be missing. The date and the clock may be parted by a blank.
func (p *lineParser) rfc3339(s string) (t time.Time, end int, zoned bool) {
	if len(s) < 19 || s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != ' ' {
		return time.Time{}, 0, false
	}
	year, ok1 := digits(s, 0, 4)
	month, ok2 := digits(s, 5, 2)
	day, ok3 := digits(s, 8, 2)
	hour, minute, second, nanos, n, ok4 := clock(s[11:])
	if !ok1 || !ok2 || !ok3 || !ok4 || year == 0 || month < 1 || month > 12 || day < 1 || day > 31 {
		return time.Time{}, 0, false
	}
	end = 11 + n
	zone := p.location()
	if offset, n, ok := zoneOffset(s[end:]); ok {
		end += n
		zoned, zone = true, time.UTC
		second -= offset
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, nanos, zone), end, zoned
}

// zoneOffset reads "Z", "+hh:mm" or "+hhmm", in seconds east of Greenwich.
func zoneOffset(s string) (seconds, end int, ok bool) {
	if s == "" {
		return 0, 0, false
	}
	if s[0] == 'Z' {
		return 0, 1, true
	}
	if s[0] != '+' && s[0] != '-' {
		return 0, 0, false
	}
	hours, ok1 := digits(s, 1, 2)
	end = 3
	if len(s) > 3 && s[3] == ':' {
		end = 4
	}
	minutes, ok2 := digits(s, end, 2)
	if !ok1 || !ok2 {
		return 0, 0, false
	}
	seconds = hours*3600 + minutes*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, end + 2, true
}

// isWeekday says whether s begins with the English name of a day, cut to three letters, and a blank.
func isWeekday(s string) bool {
	i := -1
	if len(s) > 4 && s[3] == ' ' {
		i = strings.Index("MonTueWedThuFriSatSun", s[:3])
	}
	return i >= 0 && i%3 == 0
}

// bootSeconds reads "123.456789" seconds after boot.
func bootSeconds(s string) (d time.Duration, end int) {
	whole, end := leadingDigits(s)
	if end == 0 || end >= len(s) || s[end] != '.' || whole > 1<<33 {
		return 0, 0
	}
	nanos, end := fraction(s, end+1)
	return time.Duration(whole)*time.Second + time.Duration(nanos), end
}

// sinceBoot is the time of the kernel's clock, zero where the boot is unknown.
func (p *lineParser) sinceBoot(d time.Duration) time.Time {
	if p.boot.IsZero() {
		return time.Time{}
	}
	return p.boot.Add(d)
}

// location is the zone of the node, UTC where nothing is known.
func (p *lineParser) location() *time.Location {
	if p.zone == nil {
		return time.UTC
	}
	return p.zone
}
