package goroutines

import (
	"bytes"
	"errors"
	"io"
)

// lineReader cuts a stream into lines without ever holding more than max bytes
// of one: the rest of a longer line is skipped. A bufio.Scanner would stop there.
type lineReader struct {
	r     io.Reader
	max   int
	limit int64 // bytes left to read; negative: no limit

	buf        []byte
	start, end int
	number     int // of the line returned last, from 1
	err        error
	limited    bool // the limit was reached with input left
}

const readSize = 64 << 10

func newLineReader(r io.Reader, maxLine int, limit int64) *lineReader {
	return &lineReader{r: r, max: maxLine, limit: limit, buf: make([]byte, min(readSize, maxLine))}
}

// next returns the next line without its newline; it is valid until the next
// call. whole is false if the line was cut at max bytes, or if the input ended
// without a newline.
func (l *lineReader) next() (line []byte, whole, ok bool) {
	scanned := 0
	for {
		if i := bytes.IndexByte(l.buf[l.start+scanned:l.end], '\n'); i >= 0 {
			line = l.buf[l.start : l.start+scanned+i]
			l.start += scanned + i + 1
			l.number++
			return line, true, true
		}
		scanned = l.end - l.start
		if scanned >= l.max {
			return l.overlong(), false, true
		}
		if !l.fill() {
			break
		}
	}
	if l.start == l.end {
		return nil, false, false
	}
	line = l.buf[l.start:l.end]
	l.start = l.end
	l.number++
	return line, false, true
}

// overlong returns the first max bytes of a line and skips the rest.
func (l *lineReader) overlong() []byte {
	line := bytes.Clone(l.buf[l.start : l.start+l.max])
	l.number++
	l.start += l.max
	for {
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			l.start += i + 1
			return line
		}
		l.start, l.end = 0, 0
		if !l.fill() {
			return line
		}
	}
}

// fill makes room and reads more; it is false at the end.
func (l *lineReader) fill() bool {
	if l.err != nil {
		return false
	}
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		grown := make([]byte, min(2*len(l.buf), l.max))
		copy(grown, l.buf)
		l.buf = grown
	}
	for range 100 {
		room := l.buf[l.end:]
		if l.limit >= 0 && int64(len(room)) > l.limit {
			room = room[:l.limit]
		}
		if len(room) == 0 {
			l.reachedLimit()
			return false
		}
		n, err := l.r.Read(room)
		l.end += n
		if l.limit >= 0 {
			l.limit -= int64(n)
		}
		if err != nil {
			l.err = err
		}
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	l.err = io.ErrNoProgress
	return false
}

// reachedLimit finds out whether there was more to read.
func (l *lineReader) reachedLimit() {
	var one [1]byte
	n, err := io.ReadFull(l.r, one[:])
	l.limited = n > 0
	l.err = err
	if err == nil {
		l.err = io.EOF
	}
}

// readError is what went wrong, if not the end of the input.
func (l *lineReader) readError() error {
	if l.err == nil || errors.Is(l.err, io.EOF) {
		return nil
	}
	return l.err
}
