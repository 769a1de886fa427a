package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// progress is what is known of a file while it is read. It belongs to the goroutine that folds.
type progress struct {
	File
	shapes       map[string]int
	year, zone   bool
	cut          int64
	skip, timed  bool // the last time was out of bounds; there was one
	unnumbered   bool // lines cannot be counted
	first, last  time.Time
	mixed        bool // it may be put together of several logs; in others, the last line is the last one also where the clock was set back
	compression  string
	outOfBounds  int64
	changed      string
	skippedBytes int64
	yearFound    bool           // by times in the messages
	others       bool           // they are of other files
	zoneFound    *time.Location // likewise; nil if not
	aged         time.Time      // what the ages of events count from
}

// finish sets the status of the reading.
func (r *reader) finish(p *progress, producer *producer, err error) File {
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		p.Status = "timeout"
	case errors.Is(err, fs.ErrNotExist):
		p.Status = "absent"
	case errors.Is(err, fs.ErrPermission):
		p.Status = "denied"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, nodefs.ErrTruncated):
		p.Status = "truncated"
	default:
		p.Status = "malformed"
	}
	if err != nil {
		p.Detail = err.Error()
		if errors.Is(err, io.ErrUnexpectedEOF) {
			p.Detail = "the compressed data is incomplete"
		}
	}
	if limit := producer.maxRecords; limit > 0 && p.Lines >= limit && p.Status == "read" {
		p.Status, p.Detail = "truncated", fmt.Sprintf("only the newest %d records were requested", limit)
	}
	if p.changed != "" {
		p.Status = "truncated"
	}
	return r.describe(p)
}

// describe completes the description of a file.
func (r *reader) describe(p *progress) File {
	f := p.File
	best := 0
	for shape, n := range p.shapes {
		if n > best || n == best && shape < f.Format {
			f.Format, best = shape, n
		}
	}
	f.Format = strings.Trim(p.compression+"+"+f.Format, "+")
	if p.timed {
		first, last := p.first.UTC(), p.last.UTC()
		f.First, f.Last = &first, &last
	}
	var details []string
	add := func(known bool, format string, args ...any) {
		if known {
			details = append(details, fmt.Sprintf(format, args...))
		}
	}
	add(f.Detail != "", "%s", f.Detail)
	add(p.changed != "", "%s", p.changed)
	add(p.skippedBytes > 0, "the first %d bytes are older than the time window and were skipped; lines are not numbered", p.skippedBytes)
	where := "the messages"
	if p.others {
		where = "other files of the node"
	}
	add(p.year && p.yearFound, "the year is inferred from times in %s: the lines have none", where)
	add(p.year && !p.yearFound, "the year is inferred: the lines have none")
	zone := r.opt.Zone.String()
	if zone == "Local" { // of whoever reads this elsewhere
		zone, _ = p.last.In(r.opt.Zone).Zone()
	}
	add(p.zone && p.zoneFound != nil, "the time zone is inferred from times in %s: the lines have none, %s is assumed", where, p.zoneFound)
	add(p.zone && p.zoneFound == nil, "the time zone is inferred: the lines have none, %s is assumed", zone)
	add(!p.aged.IsZero(), "the times of events are inferred from their ages at %s", p.aged.UTC().Format("2006-01-02 15:04:05 UTC"))
	add(p.cut > 0, "%d lines are longer than %d bytes and were truncated", p.cut, chunkSize)
	add(p.outOfBounds > 0, "%d known lines are outside of the time window", p.outOfBounds)
	f.Detail = strings.Join(details, "; ")
	if f.Bytes > maxProse { // only its last part was counted
		f.Prose = 0
	}
	return f
}

// fold adds what was found in a chunk.
func (r *reader) fold(p *progress, c *chunk) {
	for i := range c.found {
		f := &c.found[i]
		if f.entry.Line += p.Lines; p.unnumbered || c.unnumbered {
			f.entry.Line = 0
		}
		r.foldOne(p, f)
	}
	p.unnumbered = p.unnumbered || c.unnumbered
	p.Lines += c.lines
	p.Prose += c.prose
	p.Shown = int64(len(c.parser.shown))
	p.Selected += c.selected
	p.Bytes += c.bytes
	p.cut += c.cut
}

func (r *reader) foldOne(p *progress, f *found) {
	e := f.entry
	if s := f.shape.String(); s != "" && (p.shapes[s] > 0 || len(p.shapes) < 32) {
		p.shapes[s]++
	}
	p.year, p.zone = p.year || f.shape.guessedYear, p.zone || f.shape.guessedZone
	if e.API != nil && e.API.Reason == "" {
		p.aged = e.Time
	}
	if t := e.Time; !t.IsZero() {
		if first := e.since(); !p.timed || e.API != nil && first.Before(p.first) {
			p.first, p.timed = first, true
		}
		if !p.mixed && e.API == nil || t.After(p.last) {
			p.last = t
		}
		p.skip = !r.opt.Since.IsZero() && t.Before(r.opt.Since) || !r.opt.Until.IsZero() && t.After(r.opt.Until)
	}
	p.Uptime = cmp.Or(e.Uptime.Seconds(), p.Uptime)
	if p.Origin == "unknown" && (e.Origin == "kubelet" || e.Origin == "kernel" || e.Origin == "kube-controller-manager") {
		p.Origin = e.Origin
	} else if p.Origin != e.Origin && e.Origin != "" && p.Origin != "unknown" && (f.shape.has(layerSyslog) || f.shape.has(layerJournal)) {
		p.Origin = "mixed"
	}
	switch {
	case p.skip && f.known:
		p.outOfBounds++
	case p.skip:
	default:
		r.tell(p.Path, f)
	}
}
