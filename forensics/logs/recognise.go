package logs

import (
	"bytes"
	"io"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/compressed"
	"github.com/nodeforensics/nodeforensics/internal/hearsay"
	"github.com/nodeforensics/nodeforensics/internal/pasted"
)

// recogniseLines is how many lines at the beginning of a file have to show what it is.
const recogniseLines = 200

// Recognise says whether text, the beginning of a file, is a log: whether one of its first lines is written as a
// kubelet, a syslog daemon, a journal, a container runtime or the kernel writes, or is a message of theirs that is known
// and begins the line.
func Recognise(text []byte) bool {
	p := lineParser{zone: time.UTC, latest: time.Unix(1<<33, 0)}
	if isJournalExport(text) || isJournalPretty(text) {
		return true
	}
	p.look(text, true)
	lines := 0
	for line := range bytes.Lines(text) {
		if lines++; lines > recogniseLines {
			return false
		}
		if len(line) > maxRaw {
			continue
		}
		e, s := p.parse(string(line))
		if _, known := classify(&e); known && e.Bare && (e.Brief || !isRuntime(e.Message) || strings.HasPrefix(e.Message, "runtime network ") || strings.HasPrefix(e.Message, "runtime: failed to create new OS thread")) { // which is a dump
			return true
		}
		if s.has(layerKlog) || s.has(layerKlogJSON) || s.has(layerJournal) || s.has(layerSyslog) || s.has(layerCRI) ||
			s.has(layerDocker) || s.has(layerKmsg) || s.has(layerDmesg) || s.has(layerLogfmt) || s.has(layerEvent) {
			return true
		}
	}
	return false
}

// Rejoin looks at a short text which shows no message of trouble that is known, also none in a sentence. It puts the lines of a paragraph
// together where that makes one, and says whether there is still none. Texts about messages that no one has just seen are left alone.
func Rejoin(text []byte) (joined []byte, unknown bool) {
	if len(text) > maxLenient || hearsay.IsDocument(text) || shows(text) {
		return nil, false
	}
	p := lineParser{zone: time.UTC, latest: time.Unix(1<<33, 0)}
	joined = pasted.Paragraphs(text, p.trouble)
	return joined, joined == nil
}

// shows says whether a small text has a message of trouble that is known.
func shows(text []byte) bool {
	p := lineParser{zone: time.UTC, latest: time.Unix(1<<33, 0)}
	p.look(text, true)
	for line := range bytes.Lines(text) {
		if p.trouble(string(line)) {
			return true
		}
	}
	return false
}

// trouble says whether a line is a message of trouble that is known.
func (p *lineParser) trouble(line string) bool {
	if wordsOfAll().next([]byte(line), 0) < 0 && wordsWithin().next([]byte(line), 0) < 0 {
		return false
	}
	e, _ := p.parse(line)
	o, ok := classify(&e)
	return ok && o.Kind.Severity() == severityNotice
}

// isCompressed says whether text, the beginning of a file, is compressed in a way that [Read] reads: gzip, zstd, bzip2, xz.
func isCompressed(text []byte) bool { return compressed.Format(text) != "" }

// firstTime is the time of the first line of a log that has one, compressed or not; zero if none is near the beginning. It is for
// ordering the files of a log.
func firstTime(in io.Reader, opt Options) time.Time {
	opt = opt.withDefaults()
	p := producer{parser: &lineParser{latest: opt.Now, zone: opt.Zone}}
	if m, ok := in.(modTimer); ok && !m.ModTime().IsZero() {
		p.parser.latest = m.ModTime()
	}
	text, done, err := p.decompress(in)
	if err != nil {
		return time.Time{}
	}
	defer done()
	buf, _ := fill(make([]byte, 1, 64<<10), text)
	buf[0] = '\n' // the first line is whole
	p.parser.settle(buf)
	return p.firstTime(buf)
}
