package logs

import (
	"bufio"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"unsafe"
)

// A kept is what counts of a log that is best read once: the messages that were looked at, compressed, in memory that all such logs share. They
// are parsed again when the log is told: what was made of them would take twenty times as much.
type kept struct {
	pages    *pages
	from, to int
	// of has read it, and ended with err; nil if it did not come to an end.
	of     *producer
	err    error
	parser *lineParser // of its lines; nil if there were none
}

// pages are bytes in the order in which they came.
type pages struct {
	list [][]byte
	size int
}

const pageSize = 256 << 10

// Write implements [io.Writer].
func (p *pages) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		if p.size == len(p.list)*pageSize {
			p.list = append(p.list, make([]byte, pageSize))
		}
		n := copy(p.list[p.size/pageSize][p.size%pageSize:], rest)
		rest, p.size = rest[n:], p.size+n
	}
	return len(b), nil
}

// drop forgets what stands behind size.
func (p *pages) drop(size int) {
	p.size = size
	p.list = p.list[:(size+pageSize-1)/pageSize]
}

// ReadAt implements [io.ReaderAt].
func (p *pages) ReadAt(b []byte, at int64) (n int, err error) {
	for n < len(b) && int(at)+n < p.size {
		page := p.list[(int(at)+n)/pageSize]
		n += copy(b[n:], page[(int(at)+n)%pageSize:min(len(page), p.size-(int(at)+n)/pageSize*pageSize)])
	}
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

// A keptWriter keeps a log while it is read.
type keptWriter struct {
	*kept
	packed  *flate.Writer
	written int
	full    bool // what comes is only counted
}

// Write takes what is compressed.
func (k *keptWriter) Write(b []byte) (int, error) {
	k.written += len(b)
	if k.full {
		return len(b), nil
	}
	return k.pages.Write(b)
}

// chunk keeps what was found in one.
func (k *keptWriter) chunk(c *chunk) {
	head := []uint64{uint64(c.lines), uint64(c.selected), uint64(c.bytes), uint64(c.cut), 0, uint64(len(c.found)), uint64(c.prose)}
	if c.unnumbered {
		head[4] = 1
	}
	k.numbers(head...)
	for _, f := range c.found {
		k.numbers(uint64(f.line), f.look(), uint64(len(f.text)))
		_, _ = io.WriteString(k.packed, f.text) // into memory
	}
}

// How a message that was kept is looked at again.
const (
	lookWhole   = iota // for what it means
	lookSampled        // it was looked at whatever it holds
	lookUnknown        // it holds a word, and is nothing that is known
)

func (f *found) look() uint64 {
	switch {
	case f.sampled:
		return lookSampled
	case !f.known:
		return lookUnknown
	}
	return lookWhole
}

func (k *keptWriter) numbers(list ...uint64) {
	var b []byte
	for _, n := range list {
		b = binary.AppendUvarint(b, n)
	}
	_, _ = k.packed.Write(b)
}

// end is called when the log has ended, or finds no more room.
func (k *keptWriter) end() {
	_ = k.packed.Close()
	k.to = k.pages.size
}

// again hands out the chunks of a log that was kept.
func (p *producer) again(ctx context.Context) error {
	k := p.src.kept
	if of := k.of; of != nil {
		p.parser, p.compression, p.changed, p.maxRecords, p.skipped = of.parser, of.compression, of.changed, of.maxRecords, of.skipped
		p.yearFound, p.zoneFound, p.others = of.yearFound, of.zoneFound, of.others
	} else if p.parser = k.parser; p.parser == nil {
		return k.err
	}
	if p.src.dating != nil && !p.others {
		parser := *p.parser // its own may be in use
		p.parser = &parser
		p.fromOthers()
	}
	in := bufio.NewReader(flate.NewReader(io.NewSectionReader(k.pages, int64(k.from), int64(k.to-k.from))))
	for {
		c, err := keptChunk(in)
		if errors.Is(err, io.EOF) {
			return k.err
		}
		if err != nil {
			return err
		}
		c.parser, c.done = p.parser, make(chan struct{})
		if err := p.hand(ctx, c); err != nil {
			return err
		}
	}
}

func keptChunk(in *bufio.Reader) (*chunk, error) {
	var head [7]uint64
	if err := readNumbers(in, head[:]); err != nil {
		return nil, err
	}
	c := &chunk{lines: int64(head[0]), selected: int64(head[1]), bytes: int64(head[2]), cut: int64(head[3]), unnumbered: head[4] == 1, prose: int64(head[6]), again: true}
	for range head[5] {
		var of [3]uint64
		if err := readNumbers(in, of[:]); err != nil {
			return nil, err
		}
		text := make([]byte, of[2])
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		c.found = append(c.found, found{line: int64(of[0]), sampled: of[1] == lookSampled, unknown: of[1] == lookUnknown, text: unsafe.String(unsafe.SliceData(text), len(text))})
	}
	return c, nil
}

func readNumbers(in *bufio.Reader, list []uint64) (err error) {
	for i := range list {
		if list[i], err = binary.ReadUvarint(in); err != nil {
			return err
		}
	}
	return nil
}

// scanAgain makes entries of what was kept.
func (c *chunk) scanAgain() {
	for i := range c.found {
		c.found[i].parse(c.parser)
	}
}

// parse makes an entry of the text.
func (f *found) parse(p *lineParser) {
	f.entry = new(entry)
	if end := strings.IndexByte(f.text, '\n'); end < 0 || end == len(f.text)-1 { // nearly all
		*f.entry, f.shape = p.parse(f.text)
	} else {
		lines := strings.SplitAfterN(f.text, "\n", maxJoined+2)
		if last := len(lines) - 1; lines[last] == "" {
			lines = lines[:last]
		}
		*f.entry, f.shape = p.parse(lines...)
	}
	f.entry.Line = f.line
	if !f.sampled && !f.unknown {
		f.occurrence, f.known = classify(f.entry)
	}
}
