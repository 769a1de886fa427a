package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/report"
)

// fallback is where a report goes when --out cannot be written: memory, which is there when every disk is full or dead.
const fallback = "/dev/shm"

// parcel is what the writing child is to write: one line of JSON on its standard input, then the contents.
type parcel struct {
	Dir   string     `json:"dir"`
	Make  bool       `json:"make"` // make Dir if it is missing
	Files []filePart `json:"files"`
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

// rendering is one file of a report.
type rendering struct {
	name string
	text []byte
}

// write has the report's files written and then prints the summary, or writes the single format to standard output.
func (a *app) write(out outputFlags, r report.Report) error {
	texts, err := a.renderAll(out, r)
	if err != nil {
		return err
	}
	var files []rendering
	for i, format := range out.formats {
		files = append(files, rendering{fileName(r) + "." + strings.Replace(format, "text", "txt", 1), texts[i]})
	}
	if out.dir == "-" {
		return writeStdout(a.out.file, files[0].text, out.deadline)
	}
	first := out.deadline
	if !first.IsZero() { // the fallback needs time, too
		first = share(first, 2, 3)
	}
	written, err := writeFiles(out.dir, true, files, first)
	if err != nil {
		a.complain("--out %s: %v", out.dir, err)
		if saved, err := writeFiles(fallback, false, files, out.deadline); err == nil {
			a.err.printf("nodeforensics: the report was written to %s instead\n", fallback)
			written = saved
		} else {
			a.complain("%s: %v; only what follows is left of the report", fallback, err)
		}
	}
	var text bytes.Buffer
	opt := report.TextOptions{Width: a.out.width(), Color: a.out.color(), Files: written}
	if err := report.Text(&text, r, opt); err != nil {
		return err
	}
	a.out.printf("%s", text.String())
	return nil
}

func render(r report.Report, format string) ([]byte, error) {
	var b bytes.Buffer
	var err error
	switch format {
	case "html":
		err = report.HTML(&b, r)
	case "json":
		err = report.JSON(&b, r)
	case "text":
		err = report.Text(&b, r, report.TextOptions{Width: 80})
	}
	return b.Bytes(), err
}

// fileName is "nodeforensics-<host>-<UTC time>"; what a host name should not hold is replaced.
func fileName(r report.Report) string {
	host := strings.Map(func(c rune) rune {
		if c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, r.Node.Name)
	if host = strings.Trim(host[:min(len(host), 64)], "."); host == "" {
		host = "unknown"
	}
	at := r.Evidence.Collected
	if at.IsZero() {
		return "nodeforensics-" + host
	}
	return "nodeforensics-" + host + "-" + at.UTC().Format("20060102T150405Z")
}

// writeStdout writes to a pipe or terminal that may be stopped; it gives up at the deadline.
func writeStdout(f *os.File, text []byte, deadline time.Time) error {
	done := make(chan error, 1)
	go func() {
		_, err := f.Write(text)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		return nil
	case <-time.After(untilOr(deadline, time.Minute)):
		return errors.New("standard output: nobody reads it; what was written is not whole")
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

// writeFiles has a child of its own write the files: the directory may be on a dead mount, and then the child stays
// there while we go on. When the process table is full a child cannot be had, or cannot live; then we write ourselves.
func writeFiles(dir string, create bool, files []rendering, deadline time.Time) ([]string, error) {
	p := parcel{Dir: dir, Make: create}
	for _, f := range files {
		p.Files = append(p.Files, filePart{f.name, int64(len(f.text))})
	}
	header, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	var stream bytes.Buffer
	stream.Write(append(header, '\n'))
	for _, f := range files {
		stream.Write(f.text)
	}
	if !supported {
		return unpack(&stream)
	}
	limit := time.After(min(untilOr(deadline, 15*time.Second), 15*time.Second))
	who := os.Getpid()
	var answers <-chan result
	c, err := startChild(writerArg)
	if err == nil {
		defer c.close()
		who, answers = c.process.Pid, handOver(c, bytes.NewReader(stream.Bytes()))
	} else {
		answers = writeHere(&stream)
	}
	for {
		select {
		case got := <-answers:
			if !errors.Is(got.err, errNoReceipt) {
				return got.written, got.err
			}
			who, answers = os.Getpid(), writeHere(&stream)
		case <-limit:
			return nil, fmt.Errorf("writing did not finish: it may be on a dead mount; the writing process (pid %d) stays behind", who)
		}
	}
}

type result struct {
	written []string
	err     error
}

// writeHere writes in this process.
func writeHere(stream io.Reader) <-chan result {
	answers := make(chan result, 1)
	go func() {
		written, err := unpack(stream)
		answers <- result{written, err}
	}()
	return answers
}

// handOver feeds the child and waits for its receipt.
func handOver(c *child, stream io.Reader) <-chan result {
	answers := make(chan result, 1)
	go func() {
		_, sendErr := io.Copy(c.in, stream)
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

// writerMain is the writing child.
func writerMain(in io.Reader, out io.Writer) int {
	written, err := unpack(in)
	got := receipt{Written: written}
	if err != nil {
		got.Error = err.Error()
	}
	if json.NewEncoder(out).Encode(got) != nil || err != nil {
		return exitFailed
	}
	return exitDone
}

// unpack writes the files of a parcel, each whole or not at all.
func unpack(in io.Reader) ([]string, error) {
	reader := bufio.NewReader(in)
	header, err := reader.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var p parcel
	if err := json.Unmarshal(header, &p); err != nil {
		return nil, err
	}
	if p.Make {
		if err := os.MkdirAll(p.Dir, 0o755); err != nil {
			return nil, err
		}
	}
	written := []string{}
	for _, f := range p.Files {
		path := filepath.Join(p.Dir, f.Name)
		if err := writeWhole(path, io.LimitReader(reader, f.Size), f.Size); err != nil {
			return written, err
		}
		written = append(written, path)
	}
	return written, nil
}

// writeWhole writes a file that only its owner may read, under another name first. What is cut is removed again.
func writeWhole(path string, r io.Reader, size int64) (err error) {
	temporary := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary)
		}
	}()
	n, err := io.Copy(f, r)
	if err == nil && n != size {
		err = fmt.Errorf("%s: %w", path, io.ErrUnexpectedEOF)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
