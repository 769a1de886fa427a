package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// A rendering is one file of a report: its size in bytes, and what writes it, each time the same.
type rendering struct {
	name  string
	size  int64
	write func(io.Writer) error
}

// newRendering makes a file. A small one is made once and kept, a larger one is made anew whenever it is written: the JSON
// of a large report takes as much memory as the report itself.
func newRendering(name string, write func(io.Writer) error) (rendering, error) {
	var s spool
	if err := write(&s); err != nil {
		return rendering{}, err
	}
	if s.size == int64(s.text.Len()) {
		write = writing(s.text.Bytes())
	}
	return rendering{name, s.size, write}, nil
}

// writing writes a text that is there.
func writing(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// A spool counts what is written and keeps it unless it becomes too large.
type spool struct {
	text bytes.Buffer
	size int64
}

const maxSpool = 1 << 20

func (s *spool) Write(p []byte) (int, error) {
	if s.size += int64(len(p)); s.size <= maxSpool {
		return s.text.Write(p)
	}
	s.text = bytes.Buffer{}
	return len(p), nil
}

// pack writes the parcel with some files, for unpack.
func (p parcel) pack(w io.Writer, files []rendering) error {
	for _, f := range files {
		p.Files = append(p.Files, filePart{f.name, f.size})
	}
	header, err := json.Marshal(p)
	if err == nil {
		_, err = w.Write(append(header, '\n'))
	}
	for _, f := range files {
		if err == nil {
			counted := &countingWriter{w: w}
			if err = f.write(counted); err == nil && counted.n != f.size { // the reader would take the rest for the next file
				err = fmt.Errorf("%s: %d bytes became %d", f.name, f.size, counted.n)
			}
		}
	}
	return err
}

// countingWriter counts what is written.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
