package read

import (
	"bytes"
	"io"
)

// stackBlock is what is looked at as a whole, in bytes: more than stands between the announcement of a dump and its goroutines.
const stackBlock = 64 << 10

// stackMarks are what each stack holds: calls of goroutines and of the kernel with a distance from the beginning of the function, headings
// of those that have no call, and tasks of which the kernel reports nothing else.
var stackMarks = [][]byte{[]byte("+0x"), []byte("goroutine "), []byte("@ 0x"), []byte("INFO: task ")}

// A stackFilter hands on the text that may hold stacks, and of all other text how many lines it has: a log of a gigabyte has few stacks or
// none, and to look at each of its lines takes as long as all else that is done with it. A block is handed on if it or one beside it has a
// mark, and so are the first and the last one.
type stackFilter struct {
	near func(text []byte) error // takes whole lines, but for the end of the log and lines that are longer than a block
	skip func(lines int) error   // is told of lines that are left out

	waiting, now []byte // the block that waits for what comes after it, and the one that is being filled
	// marked says that the block that waits has a mark, before that the one before it had.
	marked, before bool
}

func newStackFilter(near func([]byte) error, skip func(int) error) *stackFilter {
	return &stackFilter{near: near, skip: skip, waiting: make([]byte, 0, stackBlock), now: make([]byte, 0, stackBlock), marked: true}
}

// Write implements [io.Writer].
func (f *stackFilter) Write(text []byte) (int, error) {
	written := 0
	for len(text) > 0 {
		n := copy(f.now[len(f.now):stackBlock], text)
		f.now, text = f.now[:len(f.now)+n], text[n:]
		written += n
		if len(f.now) == stackBlock {
			if err := f.block(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// block decides on the block that has waited, and has the one that is full wait.
func (f *stackFilter) block() error {
	end := bytes.LastIndexByte(f.now, '\n') + 1
	if end == 0 {
		end = len(f.now)
	}
	marked := marksStack(f.now[:end])
	if err := f.hand(f.before || f.marked || marked); err != nil {
		return err
	}
	f.before, f.marked = f.marked, marked
	f.waiting, f.now = f.now[:end], append(f.waiting[:0], f.now[end:]...)
	return nil
}

// hand hands on the block that has waited, or leaves it out.
func (f *stackFilter) hand(near bool) error {
	switch {
	case len(f.waiting) == 0:
		return nil
	case near:
		return f.near(f.waiting)
	}
	return f.skip(bytes.Count(f.waiting, []byte{'\n'}))
}

// Close hands on what is left.
func (f *stackFilter) Close() error {
	if err := f.hand(true); err != nil || len(f.now) == 0 {
		return err
	}
	return f.near(f.now)
}

func marksStack(text []byte) bool {
	for _, mark := range stackMarks {
		if bytes.Contains(text, mark) {
			return true
		}
	}
	return false
}

// lineEnds are written in place of lines that are left out.
var lineEnds = bytes.Repeat([]byte{'\n'}, 4<<10)

// skipLines writes that many ends of lines.
func skipLines(to io.Writer, lines int) error {
	for lines > 0 {
		n := min(lines, len(lineEnds))
		if _, err := to.Write(lineEnds[:n]); err != nil {
			return err
		}
		lines -= n
	}
	return nil
}
