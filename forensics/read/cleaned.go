package read

import (
	"bytes"
	"io"
	"strconv"
	"time"

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
	return better, nil, nil
}

// dateLine is what date(1) prints in the locales C and en_US.
var dateLine = pattern.New(`(?m)^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [AP]M)?) (?:UTC|GMT) (\d{4})\r?$`)

// dated is the time with its year at the beginning of a line of a log: of containerd, of programs in containers, of dmesg -T.
var dated = pattern.New(`(?m)^[> \t]*(?:time="|\[[A-Z][a-z]{2} )?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\])`)

// undated is the time without a year at the beginning of a line of klog or of syslog.
var undated = pattern.New(`(?m)^[> \t]*(?:[IWEF](\d{4} \d\d:\d\d:\d\d)\.|([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) )`)

// shownDate is when a text was written: by the last date(1) in it where that is before the text was saved, or by the newest line of a log if
// that is days before.
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
	for _, m := range dated.FindAllStringSubmatch(string(text), -1) {
		for _, layout := range []string{"2006-01-02T15:04:05", time.DateTime, "Jan _2 15:04:05 2006]"} {
			if t, err := time.Parse(layout, m[1]); err == nil && t.After(newest) {
				newest = t
			}
		}
	}
	if newest.IsZero() || saved.Sub(newest) < long {
		return saved
	}
	for _, m := range undated.FindAllStringSubmatch(string(text), -1) { // near the dated ones
		for _, layout := range []string{"2006 0102 15:04:05", "2006 Jan _2 15:04:05"} {
			if t, err := time.Parse(layout, strconv.Itoa(newest.Year())+" "+m[1]+m[2]); err == nil && t.After(newest) && t.Sub(newest) < long {
				newest = t
			}
		}
	}
	return newest
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
