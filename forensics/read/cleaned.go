package read

import (
	"bytes"
	"io"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/compressed"
	"github.com/nodeforensics/nodeforensics/internal/kubectl"
	"github.com/nodeforensics/nodeforensics/internal/pasted"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// cleaned is a file as a program wrote it, if it is text that somebody has pasted.
func cleaned(f File, now time.Time) File {
	open, asItIs := f.Open, false
	f.Open = func() (Content, error) {
		content, err := open()
		if err != nil || asItIs || content.Size() > pasted.MaxSize {
			return content, err
		}
		text, err := io.ReadAll(io.LimitReader(content, pasted.MaxSize+1))
		if err != nil || len(text) > pasted.MaxSize || !isText(text) {
			asItIs = !f.Stream
			return &rest{content, io.MultiReader(bytes.NewReader(text), failing{err}, content)}, nil
		}
		saved := shownDate(text, content.ModTime())
		better, objects, shown := understood(text, saved, now)
		if better == nil {
			better, asItIs = text, !f.Stream
		}
		return &inMemory{bytes.NewReader(better), saved, content, objects, shown}, nil
	}
	return f
}

// understood is a text as programs write it, with its events as lines of a log, and the objects of the API that stood in it; nil if there
// is nothing to change. Ages count from when the text was saved, or else from now.
func understood(text []byte, saved, now time.Time) (better, objects, shown []byte) {
	if better = pasted.Clean(text); better != nil {
		text = better
	}
	if saved.IsZero() {
		saved = now
	}
	if lines, whole, part := kubectl.Lines(text, saved); lines != nil {
		return lines, whole, part
	}
	joined, unknown := logs.Rejoin(text)
	if unknown {
		joined = kubectl.Hearsay(text)
	}
	if joined != nil {
		better = joined
	}
	return better, nil, nil
}

// dateLine is what date(1) prints in the locales C and en_US.
var dateLine = pattern.New(`(?m)^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [AP]M)?) (?:UTC|GMT) (\d{4})\r?$`)

// dated is the time with its year at the beginning of a line of a log: of programs in containers, of dmesg -T.
var dated = pattern.New(`(?m)^[> \t]*(?:\[[A-Z][a-z]{2} )?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\])`)

// fieldTime is what containerd and dockerd write behind syslog's time, which has no year.
var fieldTime = pattern.New(`time="(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)`)

// beat is when the kubelet has written a condition of its node last, which it does each five minutes at least.
var beat = pattern.New(`(?m)^[> \t]*[A-Z]\w+Pressure\s+(?:True|False)\s+[A-Z][a-z]{2}, (\d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4})`)

// undated is the time without a year at the beginning of a line of klog or of syslog.
var undated = pattern.New(`(?m)^[> \t]*(?:[IWEF](\d{4} \d\d:\d\d:\d\d)\.|([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) )`)

// shownDate is when a text was written: by the last date(1) in it where that is before the text was saved, or by the newest line of a log if
// that is days before: events are listed with their ages.
func shownDate(text []byte, saved time.Time) time.Time {
	all := dateLine.FindAllStringSubmatch(string(text), -1)
	if len(all) == 0 {
		return newestDated(text, saved)
	}
	m := all[len(all)-1]
	for _, layout := range []string{"Jan _2 15:04:05 2006", "Jan _2 03:04:05 PM 2006"} {
		if t, err := time.Parse(layout, m[1]+" "+m[2]); err == nil && (saved.IsZero() || t.Before(saved)) {
			return t
		}
	}
	return saved
}

func newestDated(text []byte, saved time.Time) time.Time {
	const long = 48 * time.Hour // more than zones are apart
	var newest time.Time
	var all []time.Time
	for _, m := range append(dated.FindAllStringSubmatch(string(text), -1), fieldTime.FindAllStringSubmatch(string(text), -1)...) {
		for _, layout := range []string{"2006-01-02T15:04:05", time.DateTime, "Jan _2 15:04:05 2006]"} {
			if t, err := time.Parse(layout, m[1]); err == nil {
				all = append(all, t)
			}
		}
	}
	for _, m := range beat.FindAllStringSubmatch(string(text), -1) {
		if t, err := time.Parse("02 Jan 2006 15:04:05 -0700", m[1]); err == nil {
			all = append(all, t.UTC())
		}
	}
	for _, t := range all {
		newest = latest(newest, t)
	}
	year, withYear := newest, !newest.IsZero()
	if !withYear {
		year = saved
	}
	for _, m := range undated.FindAllStringSubmatch(string(text), -1) { // near the dated ones, or in the year before the text was saved
		for _, layout := range []string{"2006 0102 15:04:05", "2006 Jan _2 15:04:05"} {
			t, err := time.Parse(layout, strconv.Itoa(year.Year())+" "+m[1]+m[2])
			if !withYear && t.Sub(saved) > long {
				t = t.AddDate(-1, 0, 0)
			}
			if err == nil && (!withYear || t.Sub(year) < long) {
				newest, all = latest(newest, t), append(all, t)
			}
		}
	}
	if newest.IsZero() || saved.Sub(newest) < long {
		return saved
	}
	oldest := newest
	for _, t := range all {
		if t.Before(oldest) {
			oldest = t
		}
	}
	if newest.Sub(oldest) < maxEventSpan {
		if events := eventSpan(text); newest.Sub(oldest) < events {
			return newest.Add(events)
		}
	}
	return newest
}

// latest is the later of two times.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// eventAges are those of a row of a table of events.
var eventAges = pattern.New(`(?m)^.*?(?:\s|^)(\d[0-9smh]{1,8})(?: \(x\d+ over (\d[0-9smh]{1,8})\))?\s+(?:\S+\s+)?(?:Normal|Warning|kubelet)\b|^\s*(?:Normal|Warning)\s+\w+\s+(\d[0-9smh]{1,8})(?: \(x\d+ over (\d[0-9smh]{1,8})\))?\s`)

// maxEventSpan is how long the apiserver keeps events.
const maxEventSpan = time.Hour

// eventSpan is of which time a table of events tells, an hour at most. Where the log beside it is shorter, who shows both has most likely looked
// at the log before, and each event came after it.
func eventSpan(text []byte) (d time.Duration) {
	for _, m := range eventAges.FindAllStringSubmatch(string(text), -1) {
		for _, age := range m[1:] {
			if t, err := time.ParseDuration(age); err == nil {
				d = max(d, t)
			}
		}
	}
	if d > 0 {
		d += time.Second
	}
	return min(d, maxEventSpan)
}

// isText leaves out what has a format of its own.
func isText(text []byte) bool {
	start := bytes.TrimLeft(text, blanks)
	return bytes.IndexByte(text, 0) < 0 && !bytes.HasPrefix(text, []byte("__CURSOR=")) && compressed.Format(text) == "" && !bytes.HasPrefix(start, []byte("{\n")) && !bytes.HasPrefix(start, []byte(`{"schema"`)) &&
		!bytes.HasPrefix(start, []byte(`{"kind"`)) && !bytes.HasPrefix(start, []byte(`{"apiVersion"`))
}

// inMemory is a small file.
type inMemory struct {
	*bytes.Reader
	saved time.Time
	io.Closer
	// objects are those of the API that stood in the text, as JSON; they are not in it. Shown are those of which it shows something.
	objects, shown []byte
}

func (m *inMemory) ModTime() time.Time { return m.saved }
