package mounts

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds one line. Two paths of 4,096 bytes, every byte escaped, and the options of an overlay, which fill a
// page, make about 40 KiB.
const maxLine = 1 << 20

// A lineReader reads lines one by one and gets over those that are too long, where bufio.Scanner stops.
type lineReader struct {
	r      *bufio.Reader
	long   []byte
	number int // of the line read last, from 1
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 8<<10)}
}

// next returns the next line without its newline, valid until the following call; errTooLong for one that was passed
// over; or the error of the reader, io.EOF at the end. The last line may lack its newline. What a failing reader has
// given of a line is dropped with the error.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.rest(line)
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = nil
	}
	if err == nil || errors.Is(err, errTooLong) {
		l.number++
	}
	return bytes.TrimSuffix(line, []byte{'\n'}), err
}

// rest reads on to the end of a line that is longer than the buffer.
func (l *lineReader) rest(start []byte) ([]byte, error) {
	l.long = append(l.long[:0], start...)
	tooLong := false
	for {
		more, err := l.r.ReadSlice('\n')
		if tooLong = tooLong || len(l.long)+len(more) > maxLine; !tooLong {
			l.long = append(l.long, more...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errTooLong
		}
		return l.long, err
	}
}
