package goroutines

import (
	"fmt"
	"io"
)

// Parser reads goroutine dumps within limits. The zero value has sane ones and is ready to use.
type Parser struct {
	// MaxBytes is how much of the input is read, after decompression.
	// 0 means 1 GiB for Parse and no limit for Groups, which runs in constant memory.
	MaxBytes int64
	// MaxGoroutines is how many goroutines Parse keeps; further ones are
	// counted in a Problem. 0 means 1,000,000.
	MaxGoroutines int
	// MaxLine is the length in bytes from which the rest of a line is skipped. 0 means 1 MiB.
	MaxLine int
	// MaxProblems is how many problems are listed; the last one then says how many are not. 0 means 1,000.
	MaxProblems int
}

// Limits that are no one's business to change.
const (
	// maxFrames bounds the frames kept of one goroutine: the runtime prints 101 at most, and a profile has 128 addresses
	// with what was inlined there.
	maxFrames = 512
	// maxArgs bounds the arguments of one call in bytes; longer ones are no arguments: the runtime prints ten.
	maxArgs = 512
	// maxPartial bounds a line that a log has cut into pieces, in bytes.
	maxPartial = 128 << 10
	// maxDumps bounds the dumps in one input.
	maxDumps = 1000
	// maxSources bounds the log sources that are told apart in one input.
	maxSources = 256
)

const (
	defaultMaxBytes      = 1 << 30
	defaultMaxGoroutines = 1_000_000
	defaultMaxLine       = 1 << 20
	defaultMaxProblems   = 1_000
)

// Parse reads every dump in r, in the order in which they begin, with default
// limits. The error is that of reading r; what was understood before it is
// returned with it.
func Parse(r io.Reader) (dumps []Dump, problems []Problem, err error) {
	return Parser{}.Parse(r)
}

// Parse is the package's function [Parse] with the limits of p.
func (p Parser) Parse(r io.Reader) (dumps []Dump, problems []Problem, err error) {
	if p.MaxBytes <= 0 {
		p.MaxBytes = defaultMaxBytes
	}
	if p.MaxGoroutines <= 0 {
		p.MaxGoroutines = defaultMaxGoroutines
	}
	c := collector{max: p.MaxGoroutines}
	found, problems, err := p.read(r, c.add)
	if c.dropped > 0 {
		problems = append(problems, Problem{Reason: fmt.Sprintf("more than %d goroutines: %d not kept", c.max, c.dropped)})
	}
	dumps = make([]Dump, 0, len(found))
	for _, d := range rejoin(found) {
		if d.seen > 0 {
			dumps = append(dumps, d.Dump)
		}
	}
	return dumps, problems, err
}

// collector keeps every goroutine.
type collector struct {
	slab    frameSlab
	max     int
	kept    int
	dropped int
}

func (c *collector) add(d *dump, s *scratch) {
	if c.kept >= c.max {
		c.dropped++
		d.Truncated = true
		return
	}
	c.kept++
	d.Goroutines = append(d.Goroutines, s.goroutine(&c.slab))
}

// problemList keeps the first problems and counts the rest.
type problemList struct {
	max   int
	list  []Problem
	extra int
}

func (l *problemList) add(line int, format string, args ...any) {
	if len(l.list) >= l.max {
		l.extra++
		return
	}
	l.list = append(l.list, Problem{Line: line, Reason: fmt.Sprintf(format, args...)})
}

func (l *problemList) result() []Problem {
	if l.extra > 0 {
		l.list = append(l.list, Problem{Reason: fmt.Sprintf("%d more problems", l.extra)})
	}
	if l.list == nil {
		return []Problem{}
	}
	return l.list
}
