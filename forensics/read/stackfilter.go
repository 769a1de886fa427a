package read

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// stackBlock is what is looked at as a whole, in bytes: more than stands between the announcement of a dump and its goroutines.
const stackBlock = 64 << 10

// stackMarks are what each stack holds: calls of goroutines and of the kernel with a distance from the beginning of the function, headings
// of those that have no call, and tasks of which the kernel reports nothing else.
var stackMarks = [][]byte{[]byte("+0x"), []byte("goroutine "), []byte("@ 0x"), []byte("INFO: task ")}

// A stackFilter hands on the text that may hold stacks, and of all other text how many lines it has: a log of a gigabyte has few stacks or
// none, and to look at each of its lines takes as long as all else that is done with it. A block is handed on if it or one beside it has a
// mark, and so are the first and the last one. It works beside whoever writes, who is mostly busy with decompressing.
type stackFilter struct {
	near func(text []byte) error // takes whole lines, but for the end of the log and lines that are longer than a block
	skip func(lines int) error   // is told of lines that are left out

	now   []byte // the block that is being filled
	full  chan filteredBlock
	ended chan error
}

// A filteredBlock is to be looked at.
type filteredBlock struct {
	text []byte
	last bool
}

// stackBlocks are those that are not in use.
var stackBlocks = sync.Pool{New: func() any { return new([stackBlock]byte) }}

func newStackBlock() []byte { return stackBlocks.Get().(*[stackBlock]byte)[:0] }

func freeStackBlock(b []byte) {
	if b != nil {
		stackBlocks.Put((*[stackBlock]byte)(b[:stackBlock]))
	}
}

func newStackFilter(near func([]byte) error, skip func(int) error) *stackFilter {
	f := &stackFilter{near: near, skip: skip, now: newStackBlock(), full: make(chan filteredBlock, 2), ended: make(chan error, 1)}
	go func() { f.ended <- f.filter() }()
	return f
}

// Write implements [io.Writer]. Errors are returned by Close.
func (f *stackFilter) Write(text []byte) (int, error) {
	written := 0
	for len(text) > 0 {
		n := copy(f.now[len(f.now):stackBlock], text)
		f.now, text = f.now[:len(f.now)+n], text[n:]
		written += n
		if len(f.now) == stackBlock {
			f.block()
		}
	}
	return written, nil
}

// block has the whole lines of the one that is full looked at.
func (f *stackFilter) block() {
	end := bytes.LastIndexByte(f.now, '\n') + 1
	if end == 0 {
		end = len(f.now)
	}
	next := append(newStackBlock(), f.now[end:]...)
	f.full <- filteredBlock{text: f.now[:end]}
	f.now = next
}

// Close hands on what is left, and waits until all was taken.
func (f *stackFilter) Close() error {
	f.full <- filteredBlock{f.now, true}
	close(f.full)
	return <-f.ended
}

// filter decides on each block when the one behind it is there.
func (f *stackFilter) filter() (err error) {
	defer func() {
		if p := recover(); p != nil { // what is read may be hostile
			err = fmt.Errorf("panic: %v", p)
		}
		for block := range f.full {
			freeStackBlock(block.text)
		}
	}()
	var waiting []byte
	marked, before := true, false // whether the block that waits has a mark; whether the one before it had. The first one is handed on
	for now := range f.full {
		mark := marksStack(now.text)
		if err := f.hand(waiting, before || marked || mark || now.last); err != nil {
			return err
		}
		freeStackBlock(waiting)
		before, marked, waiting = marked, mark, now.text
	}
	defer freeStackBlock(waiting)
	return f.hand(waiting, true)
}

// hand hands on a block, or leaves it out.
func (f *stackFilter) hand(block []byte, near bool) error {
	switch {
	case len(block) == 0:
		return nil
	case near:
		return f.near(block)
	}
	return f.skip(bytes.Count(block, []byte{'\n'}))
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
