package goroutines

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// A debug=0 dump is decoded as a whole, and takes some hundred bytes for each message in it. One of a kubelet has 40 KB;
// with 77,000 goroutines and as many stacks it has 5 MB and 80,000 messages.
const (
	maxProtobuf = 8 << 20 // bytes, decompressed
	maxMessages = 150_000
)

// peekSize is how far the form is looked for. Larger reads pass by a bufio.Reader's buffer.
const peekSize = 512

// source is an input and the errors of reading it, apart from those of a
// decompressor: a gzip stream that is cut or broken is a Problem, not an error.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// read is the common part of Parse and Digest: it hands every goroutine to emit.
func (p Parser) read(r io.Reader, emit func(*dump, *scratch)) ([]*dump, []Problem, error) {
	if p.MaxLine <= 0 {
		p.MaxLine = defaultMaxLine
	}
	if p.MaxProblems <= 0 {
		p.MaxProblems = defaultMaxProblems
	}
	t := newTextReader(emit, p.MaxProblems)
	src := &source{r: r}
	broken := p.readInput(t, src)
	switch {
	case src.err != nil:
		return t.dumps, t.problems.result(), fmt.Errorf("read goroutine dump: %w", src.err)
	case broken != nil:
		t.cutLast()
		t.problems.add(0, "compressed input is truncated or damaged: %v", broken)
	}
	return t.dumps, t.problems.result(), nil
}

// readInput decompresses if need be and tells protobuf from text.
func (p Parser) readInput(t *textReader, src *source) error {
	in := bufio.NewReaderSize(src, peekSize)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		in = bufio.NewReaderSize(z, peekSize)
	}
	if start, _ := in.Peek(peekSize); looksLikeProtobuf(start) {
		rest, done := t.protobuf(in)
		if done {
			return nil
		}
		return p.readText(t, rest)
	}
	return p.readText(t, in)
}

func (p Parser) readText(t *textReader, r io.Reader) error {
	limit := p.MaxBytes
	if limit <= 0 {
		limit = -1
	}
	lines := newLineReader(r, p.MaxLine, limit)
	for {
		line, whole, ok := lines.next()
		if !ok {
			break
		}
		if !whole && len(line) >= p.MaxLine {
			t.problems.add(lines.number, "line longer than %d bytes: the rest is skipped", p.MaxLine)
		}
		t.line(line, lines.number)
	}
	t.finish(lines.number)
	if lines.limited {
		t.cutLast()
		t.problems.add(0, "input longer than %d bytes: the rest was not read", limit)
	}
	return lines.readError()
}
