package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// terminal writes to a terminal or pipe that may be stopped (Ctrl-S, a reader that does not read) without ever
// waiting for it longer than patience at the end.
type terminal struct {
	file  *os.File
	tty   bool
	lines chan string
	done  chan struct{}
	mu    sync.Mutex
	ended bool  // nothing is taken any more
	err   error // the write that failed; to be read when done is closed
}

const (
	patience = 2 * time.Second // for somebody to read the last lines
	backlog  = 4096            // lines that wait for a stopped terminal before further ones are dropped
)

func newTerminal(f *os.File) *terminal {
	t := &terminal{file: f, tty: term.IsTerminal(int(f.Fd())), lines: make(chan string, backlog), done: make(chan struct{})}
	go func() {
		defer close(t.done)
		for s := range t.lines {
			if _, t.err = t.file.WriteString(s); t.err != nil {
				return // nobody reads, or the disk is full
			}
		}
	}()
	return t
}

func (t *terminal) printf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return // work that was given up at the deadline goes on until the program ends
	}
	select {
	case t.lines <- fmt.Sprintf(format, args...):
	default:
	}
}

// flush waits until everything is written, but not for ever, and says why it could not be.
func (t *terminal) flush() error {
	t.end()
	select {
	case <-t.done:
		return t.err
	case <-time.After(patience):
		return nil
	}
}

func (t *terminal) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.ended = true
		close(t.lines)
	}
}

// color says whether escape sequences may be written: to a terminal, unless NO_COLOR is set (no-color.org).
func (t *terminal) color() bool {
	return t.tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// width is the number of columns, 80 where it is not known.
func (t *terminal) width() int {
	if w, _, err := term.GetSize(int(t.file.Fd())); t.tty && err == nil && w > 0 {
		return min(w, 120)
	}
	return 80
}
