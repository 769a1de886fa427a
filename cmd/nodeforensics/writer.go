package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/report"
)

// fallback is where a report goes when --output-dir cannot be written: memory, which is there when every disk is full or dead.
const fallback = "/dev/shm"

// parcel is what the writing child is to write: one line of JSON on its standard input, then the contents.
type parcel struct {
	Dir  string `json:"dir"`
	Make bool   `json:"make"` // make Dir if it is missing
	// Replace writes over a regular file of that name. Otherwise nothing is ever replaced: names that exist get a number.
	Replace bool       `json:"replace"`
	Files   []filePart `json:"files"`
}

type filePart struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// receipt is its answer: the paths that were written whole, and what went wrong.
type receipt struct {
	Written []string `json:"written"`
	Error   string   `json:"error,omitempty"`
}

// writeReport has the files of a report written, and returns their paths.
func (a *app) writeReport(interrupted <-chan struct{}, out outputFlags, r report.Report) ([]string, error) {
	files, err := a.renderAll(out, r)
	if err != nil {
		return nil, err
	}
	first := out.deadline
	if !first.IsZero() { // the fallback needs time, too
		first = share(first, 2, 3)
	}
	written, err := a.writeFiles(interrupted, parcel{Dir: out.dir, Make: true}, files, first)
	if err == nil {
		return written, nil
	}
	a.lost = true
	a.complain("--output-dir %s: %v", out.dir, err)
	written, err = a.writeFiles(nil, parcel{Dir: fallback}, files, out.deadline)
	if err != nil {
		a.complain("%s: %v; the report is lost, except for the summary", fallback, err)
		return nil, nil
	}
	a.err.printf("nodeforensics: the report was written to %s instead\n", fallback)
	return written, nil
}

// fileName is "nodeforensics-NODE-TIME", or says that they are unknown. What does not belong into a file name is replaced.
func fileName(r report.Report) string {
	host := strings.Map(func(c rune) rune {
		if c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, r.Node.Name)
	host, at := strings.Trim(host[:min(len(host), 64)], "."), "unknown-time"
	if !r.Evidence.Collected.IsZero() {
		at = r.Evidence.Collected.UTC().Format("20060102T150405Z")
	}
	return "nodeforensics-" + cmp.Or(host, "unknown-node") + "-" + at
}

// writeStdout writes to a pipe or terminal that may be stopped; it gives up at the deadline.
func writeStdout(f *os.File, text []byte, deadline time.Time) error {
	return streamStdout(f, writing(text), deadline)
}

// streamStdout does so with what is made while it is written.
func streamStdout(f *os.File, write func(io.Writer) error, deadline time.Time) error {
	done := make(chan error, 1)
	go func() { done <- write(f) }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		return nil
	case <-time.After(untilOr(deadline, time.Minute)):
		return errors.New("standard output: timed out because it is not read; the output is incomplete")
	}
}

// untilOr is the time until a deadline, but at least some seconds: a late report is better than none.
func untilOr(deadline time.Time, otherwise time.Duration) time.Duration {
	if deadline.IsZero() {
		return otherwise
	}
	return max(time.Until(deadline), time.Second)
}

// errNoReceipt says that the writing child ended without a word, as a Go program does that gets no thread.
var errNoReceipt = errors.New("the writing process failed")

// interruptedPatience is how long --output-dir may take when somebody wants the program to end.
const interruptedPatience = 2 * time.Second

// writeFiles has a child of its own write the files: the directory may be on a dead mount, and then the child stays
// there while we go on, and ends when the mount lets it. When the process table is full a child cannot be had, or cannot live; then we write ourselves.
func (a *app) writeFiles(interrupted <-chan struct{}, p parcel, files []rendering, deadline time.Time) ([]string, error) {
	if !supported {
		return unpackHere(p, files)
	}
	limit := time.After(min(untilOr(deadline, 15*time.Second), 15*time.Second))
	who := os.Getpid()
	var answers <-chan result
	c, err := startChild(writerArg)
	if err == nil {
		defer c.close()
		who, answers = c.process.Pid, handOver(c, p, files)
	} else {
		answers = writeHere(p, files)
	}
	a.left.writing(p.Dir, who)
	for {
		select {
		case got := <-answers:
			if !errors.Is(got.err, errNoReceipt) {
				a.left.wrote(got.written)
				return got.written, got.err
			}
			who, answers = os.Getpid(), writeHere(p, files)
		case <-interrupted:
			interrupted, limit = nil, time.After(interruptedPatience)
		case <-limit:
			if err == nil {
				c.kill()
			}
			return nil, fmt.Errorf("timed out: the directory may be on a dead mount; the writing process (pid %d) is left behind", who)
		}
	}
}

type result struct {
	written []string
	err     error
}

// writeHere writes in this process.
func writeHere(p parcel, files []rendering) <-chan result {
	answers := make(chan result, 1)
	go func() {
		written, err := unpackHere(p, files)
		answers <- result{written, err}
	}()
	return answers
}

// unpackHere packs and unpacks at once.
func unpackHere(p parcel, files []rendering) ([]string, error) {
	out, in := io.Pipe()
	defer func() { _ = out.Close() }()
	go func() { _ = in.CloseWithError(p.pack(in, files)) }()
	return unpack(out)
}

// handOver feeds the child and waits for its receipt.
func handOver(c *child, p parcel, files []rendering) <-chan result {
	answers := make(chan result, 1)
	go func() {
		sendErr := p.pack(c.in, files)
		_ = c.in.Close()
		var got receipt
		err := json.NewDecoder(c.out).Decode(&got)
		switch {
		case err != nil:
			err = fmt.Errorf("%w: %w", errNoReceipt, errors.Join(sendErr, c.fate(err)))
		case got.Error != "":
			err = errors.New(got.Error)
		}
		answers <- result{got.Written, err}
	}()
	return answers
}
