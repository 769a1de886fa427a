package logs

import (
	"bufio"
	"bytes"
	"io"
	"time"
)

const (
	// savedTogether is how far apart the files of one collection are saved, nearDates how far from the lines of one log the first line of
	// another may be.
	savedTogether, nearDates = 24 * time.Hour, 30 * 24 * time.Hour
	// tailSize is how much of the end of a log is looked at for its last time, in bytes.
	tailSize = 16 << 10
)

// dates are what one log tells of the year and the zone of the others of its node.
type dates struct {
	undated     time.Time      // of the first line without a year, in the year that was guessed
	yearKnown   bool           // the log itself tells its year
	zone        *time.Location // that its kubelet names; nil if it names none
	first, last time.Time      // of a log that tells its year; the last is zero where it is not known
	saved       time.Time
}

func (d *dates) note(e *entry, s *shape) {
	switch {
	case e.Time.IsZero() || e.API != nil: // an event may have an age alone
	case d.yearKnown:
		if d.first.IsZero() || e.Time.Before(d.first) {
			d.first = e.Time
		}
		if e.Time.After(d.last) {
			d.last = e.Time
		}
	case s.guessedYear && d.undated.IsZero():
		d.undated = e.Time
	}
}

// noteSettled notes what the beginning of the log tells.
func (d *dates) noteSettled(p *producer) {
	d.yearKnown, d.zone, d.saved = !p.latest.IsZero(), p.zone, p.saved
}

// span notes the times of a log that was read to its end.
func (d *dates) span(f File) {
	if d.yearKnown && f.First != nil && f.Format != layerNames[layerEvent] {
		d.first, d.last = *f.First, *f.Last
	}
}

// tail is the end of a log of which the beginning was seen. One that is compressed would have to be read.
func tail(p *producer, in io.Reader) []byte {
	file, ok := in.(interface {
		io.ReaderAt
		Size() int64
	})
	if !ok || p.compression != "" {
		return nil
	}
	buf := make([]byte, tailSize)
	n, _ := file.ReadAt(buf, max(file.Size()-tailSize, 0))
	if !p.export {
		return buf[:n]
	}
	_, text, _ := bytes.Cut(buf[:n], []byte("\n\n"))
	text, _ = io.ReadAll(journalLines(bufio.NewReader(bytes.NewReader(text))))
	return text
}

// noteTail notes the last times of a log; its first line may be cut.
func (d *dates) noteTail(p *producer, text []byte) {
	d.last = time.Time{}
	for line := range bytes.Lines(text) {
		e, s := p.parser.parse(string(line))
		d.note(&e, &s)
	}
}

// around is a time of an unknown year in the only year in which it is near the log's lines; zero if there is none, or more.
func (d *dates) around(t time.Time) (found time.Time) {
	for year := d.first.Year() - 1; year <= d.last.Year()+1; year++ {
		at := t.AddDate(year-t.Year(), 0, 0)
		if at.Month() != t.Month() || at.Before(d.first.Add(-nearDates)) || at.After(d.last.Add(nearDates)) {
			continue
		}
		if !found.IsZero() {
			return time.Time{}
		}
		found = at
	}
	return found
}

// A dating is what other logs of a node tell of the first line of one that has no year: when it was written (at is zero if as was
// guessed), and in which zone, nil if that is not known.
type dating struct {
	near, at time.Time
	zone     *time.Location
}

// date gives logs the years and zones that other logs of their node tell, if those that tell any agree.
func (r *Reader) date(logs []*addedLog) {
	for _, l := range logs {
		if l.dates.yearKnown || l.dates.undated.IsZero() || l.src.dating != nil {
			continue
		}
		d := r.datingOf(l)
		if d.at.IsZero() {
			continue
		}
		guessed := l.dates.undated
		if l.dates.undated = d.at; l.first.Equal(guessed) {
			l.first = d.at
		}
		if d.near = d.at; d.at.Equal(guessed) {
			d.at = time.Time{}
		}
		l.src.dating = &d
	}
}

func (r *Reader) datingOf(l *addedLog) (d dating) {
	node, ok := r.teller.nodeOf(l)
	if !ok {
		return dating{}
	}
	offset, zones := 0, 0
	for _, o := range r.logs {
		if !o.dates.yearKnown || o.dates.last.IsZero() || o.dates.saved.Sub(l.dates.saved).Abs() > savedTogether {
			continue
		}
		if other, ok := r.teller.nodeOf(o); !ok || other != node {
			continue
		}
		at := o.dates.around(l.dates.undated)
		if at.IsZero() || at.After(l.dates.saved.Add(clockPatience)) {
			continue
		}
		if !d.at.IsZero() && !d.at.Equal(at) {
			return dating{}
		}
		d.at = at
		if o.dates.zone != nil {
			_, seconds := at.In(o.dates.zone).Zone()
			if zones == 0 || seconds != offset {
				d.zone, offset, zones = o.dates.zone, seconds, zones+1
			}
		}
	}
	if zones > 1 || len(l.kubelets) == 0 { // what runs in a container has a zone of its own
		d.zone = nil
	}
	return d
}

// nodeOf is the node of all lines of a log, -1 where no log names one.
func (t *teller) nodeOf(l *addedLog) (node int, ok bool) {
	switch {
	case l.byPID != nil || len(l.names.nodes) > 1:
		return 0, false
	case l.node >= 0:
		return l.node, true
	}
	return t.only, t.only >= 0 || len(t.names.nodes) == 0
}
