package logs

import (
	"bytes"
	"strings"
	"unsafe"
)

const (
	// chunkSize is what is searched at a time; a line that is longer is cut.
	chunkSize = 256 << 10
	// sampleEvery is the distance of lines that are looked at whatever they hold.
	sampleEvery = 32 << 10
	// A chunk of smallChunk at most is what somebody has pasted, or the end of a log: there the distance is smallSample.
	smallChunk  = 64 << 10
	smallSample = 1 << 10
	// maxJoined bounds the lines of one message.
	maxJoined = 64
)

// A chunk is a run of whole lines and, when done is closed, what is known in them.
type chunk struct {
	text    []byte
	parser  *lineParser
	matcher *matcher
	// cut counts lines that lost their end; bytes is what the chunk was in the log.
	cut, bytes int64
	// unnumbered says that the lines before the chunk were not counted.
	unnumbered bool

	// again says that it was scanned before: found has the lines that were taken then.
	again           bool
	lines, selected int64
	prose           int64 // lines, of a small chunk
	found           []found
	done            chan struct{}
}

// found is one entry; Line counts within the chunk.
type found struct {
	text    string // the lines
	line    int64
	sampled bool // it was looked at whatever it holds
	unknown bool // it was looked at before, and is nothing that is known

	entry      *entry
	shape      shape
	occurrence occurrence
	known      bool
}

// scanner walks over a chunk.
type scanner struct {
	*chunk
	// at is where the next entry may begin, counted up to where lines are counted, line the number of that one.
	at, counted int
	line        int64
	sampled     int
	errors      int // up to where a small chunk was searched for errors
}

// scan finds the lines that hold a word and makes entries of them, with some of the lines between.
func (c *chunk) scan() {
	if c.again {
		c.scanAgain()
		return
	}
	s := scanner{chunk: c}
	for s.at < len(c.text) {
		hit := c.matcher.next(c.text, s.at)
		if hit < 0 {
			break
		}
		c.selected++
		head, tail := s.extent(hit)
		s.samples(head)
		s.take(head, tail, false)
		// Later lines of the message may hold words as well: each is a line that was selected.
		for next := c.lineEnd(hit); next < tail; {
			if hit = c.matcher.next(c.text[:tail], next); hit < 0 {
				break
			}
			c.selected++
			next = c.lineEnd(hit)
		}
		s.at = tail
	}
	s.samples(len(c.text))
	c.lines = s.number(len(c.text))
	if n := len(c.text); n > 0 && c.text[n-1] != '\n' {
		c.lines++
	}
	if len(c.text) <= maxProse {
		c.prose = c.countProse()
	}
}

// maxProse is more than anybody writes around the lines of a log.
const maxProse = 256 << 10

// countProse counts the lines without a header of a program.
func (c *chunk) countProse() (n int64) {
	for at := 0; at < len(c.text); at = c.lineEnd(at) {
		if k := c.peekAt(at); k.shape.depth == 0 && !isKlogHead(k.text) {
			n++
		}
	}
	return n
}

// number is how many line ends there are before a position that is not before the last one asked for.
func (s *scanner) number(at int) int64 {
	s.line += int64(bytes.Count(s.text[s.counted:at], []byte{'\n'}))
	s.counted = at
	return s.line
}

func (c *chunk) lineStart(at int) int { return bytes.LastIndexByte(c.text[:at], '\n') + 1 }

func (c *chunk) lineEnd(at int) int {
	if i := bytes.IndexByte(c.text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(c.text)
}

// extent is where the message begins and ends that the line at hit is part of. Only messages of klog have several lines.
func (s *scanner) extent(hit int) (head, tail int) {
	start, end := s.lineStart(hit), s.lineEnd(hit)
	head, tail = start, end
	first := s.peekAt(head)
	for n := 0; n < maxJoined && head > s.at && s.parser.follows(&first); n++ {
		head = s.lineStart(head - 1)
		for first.shape.depth > 0 && head > s.at && s.empty(head) {
			head = s.lineStart(head - 1)
		}
		before := s.peekAt(head)
		if !before.leads(&first) {
			return start, end
		}
		first = before
	}
	if !isKlogHead(first.text) && !first.shape.partial {
		return start, end
	}
	for n := 0; n < maxJoined && tail < len(s.text); n++ {
		at := tail
		for first.shape.depth > 0 && at < len(s.text) && s.empty(at) {
			at = s.lineEnd(at)
		}
		if at == len(s.text) {
			break
		}
		next := s.peekAt(at)
		if !s.parser.follows(&next) || !first.leads(&next) {
			break
		}
		tail = s.lineEnd(at)
	}
	return head, tail
}

// empty says whether nothing is in the line at an offset, not even a prefix: what was wrapped and is put together leaves such lines.
func (c *chunk) empty(at int) bool { return c.text[at] == '\n' }

// A peek is what the prefixes of one line tell.
type peek struct {
	text  string
	entry entry
	shape shape
}

// peekAt looks at the line that begins at an offset. What it returns is good until the chunk is released.
func (c *chunk) peekAt(at int) peek {
	return c.parser.peek(c.text[at:c.lineEnd(at)])
}

func (p *lineParser) peek(line []byte) peek {
	var k peek
	k.text = p.unwrap(&k.entry, &k.shape, unsafe.String(unsafe.SliceData(line), len(line)))
	return k
}

// follows says whether a line may be a later line of the message above it, by not beginning like one.
func (p *lineParser) follows(k *peek) bool {
	return p.isContinuation(k.text, &k.entry, &k.shape)
}

// leads says whether the line may be the one above another in a message: it has the same writer.
func (k *peek) leads(next *peek) bool {
	if k.shape.partial {
		return next.shape.stream == k.shape.stream && next.shape.depth > 0
	}
	return !k.shape.head && k.shape.depth == next.shape.depth && k.entry.Origin == next.entry.Origin && k.entry.PID == next.entry.PID
}

// take makes an entry of the lines from head to tail.
func (s *scanner) take(head, tail int, sampled bool) {
	f := found{text: string(s.text[head:tail]), line: s.number(head) + 1, sampled: sampled}
	f.parse(s.parser)
	s.found = append(s.found, f)
}

// samples looks at some lines between here and an offset: at the first and last of a chunk, and at some between.
func (s *scanner) samples(until int) {
	if s.sampled == 0 && s.at == 0 && until > 0 {
		s.sample(0, until)
		s.sampled = s.every()
	}
	if until == len(s.text) && until > s.at {
		last := s.lastTimed(until)
		s.between(last, until)
		s.sample(last, until)
	}
	s.between(until, until)
}

// every is the distance of the lines that are looked at whatever they hold.
func (s *scanner) every() int {
	if len(s.text) <= smallChunk {
		return smallSample
	}
	return sampleEvery
}

// between looks at the lines at which that distance ends, up to one.
func (s *scanner) between(to, until int) {
	for ; s.sampled < to; s.sampled += s.every() {
		s.errorsUpTo(s.sampled, until)
		if s.sampled >= s.at && s.lineEnd(s.sampled) < to {
			s.sample(s.lineEnd(s.sampled), until)
		}
	}
	s.errorsUpTo(to, until)
}

// errorsUpTo looks at all errors that begin before an offset, in a small chunk: what is not known of it is said, too.
func (s *scanner) errorsUpTo(to, until int) {
	if len(s.text) > smallChunk {
		return
	}
	for at := max(s.errors, s.at); at < to; at = s.lineEnd(at) {
		if k := s.peekAt(at); isKlogHead(k.text) && (k.text[0] == 'E' || k.text[0] == 'F') || strings.Contains(k.text, "level=error") || strings.Contains(k.text, "level=fatal") {
			s.sample(at, until)
		}
		s.errors = s.lineEnd(at)
	}
}

// maxTail bounds the lines behind the last one with a time: what somebody has written below a log that was pasted.
const maxTail = 40

// lastTimed is where the last line with a time begins, or the last line where none of the last ones has one.
func (s *scanner) lastTimed(until int) int {
	last := s.lineStart(until - 1)
	for at, n := last, 0; n < maxTail && at >= s.at; n++ {
		if k := s.peekAt(at); !k.entry.Time.IsZero() || k.entry.Uptime > 0 {
			return at
		}
		if at == 0 {
			break
		}
		at = s.lineStart(at - 1)
	}
	return last
}

// sample looks at the line that begins at an offset, if it was not looked at before.
func (s *scanner) sample(at, until int) {
	if at < s.at || at >= until {
		return
	}
	s.take(at, s.lineEnd(at), true)
	s.at = s.lineEnd(at)
}
