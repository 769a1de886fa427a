package logs

import (
	"bytes"
	"io"
	"time"
)

// recogniseLines is how many lines at the beginning of a file have to show what it is.
const recogniseLines = 200

// Recognise says whether text, the beginning of a file, is a log: whether one of its first lines is written as a
// kubelet, a syslog daemon, a journal, a container runtime or the kernel writes.
func Recognise(text []byte) bool {
	p := lineParser{zone: time.UTC, latest: time.Unix(1<<33, 0)}
	lines := 0
	for line := range bytes.Lines(text) {
		if lines++; lines > recogniseLines {
			return false
		}
		if len(line) > maxRaw {
			continue
		}
		_, s := p.parse(string(line))
		if s.has(layerKlog) || s.has(layerKlogJSON) || s.has(layerJournal) || s.has(layerSyslog) || s.has(layerCRI) ||
			s.has(layerDocker) || s.has(layerKmsg) || s.has(layerDmesg) {
			return true
		}
	}
	return false
}

// The first bytes of what is compressed (RFC 1952, RFC 8878).
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// IsCompressed says whether text, the beginning of a file, is compressed in a way that [Read] reads.
func IsCompressed(text []byte) bool {
	return bytes.HasPrefix(text, gzipMagic) || bytes.HasPrefix(text, zstdMagic)
}

// FirstTime is the time of the first line of a log that has one, compressed or not; zero if none is near the beginning. It is for
// ordering the files of a log.
func FirstTime(in io.Reader, opt Options) time.Time {
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
	return p.firstTime(buf)
}
