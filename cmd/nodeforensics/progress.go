package main

import (
	"fmt"
	"sync"
	"time"
)

// progress tells on standard error what is being done, for whatever takes longer than progressAfter.
type progress struct {
	mu         sync.Mutex
	step, said string
	timer      *time.Timer
	ended      bool
}

// progressAfter is also how often a line is printed at most: a thousand small files are not a thousand lines.
const progressAfter = time.Second

// working says what is being done from now on: on a terminal, or with --verbose.
func (a *app) working(format string, args ...any) {
	if a.quiet || !a.err.tty && !a.verbose {
		return
	}
	p := &a.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = fmt.Sprintf(format, args...)
	if p.timer == nil && !p.ended {
		p.timer = time.AfterFunc(progressAfter, a.sayProgress)
	}
}

func (a *app) sayProgress() {
	p := &a.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if p.step != p.said {
		p.said = p.step
		a.err.printf("%s …\n", printable(p.step))
	}
	p.timer.Reset(progressAfter)
}

// stop ends it: nothing is printed after the result.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// note prints a line on standard error that is no error, unless --quiet.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.err.printf("nodeforensics: "+format+"\n", args...)
	}
}
