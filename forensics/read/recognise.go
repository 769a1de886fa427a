package read

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/compressed"
)

// headSize is how much of a file is looked at to tell what it is, in bytes.
const headSize = 64 << 10

// file adds what one file says. Of a log that can be opened again it only says that it is one: logs are read together.
func (r *reader) file(ctx context.Context, f File) (got Result, isLog bool) {
	got = Result{Name: f.Name}
	content, err := f.Open()
	if err != nil {
		got.Err = err
		return got, false
	}
	defer func() { _ = content.Close() }()
	counted := &counter{r: content}
	text := bufio.NewReaderSize(counted, headSize)
	head, err := text.Peek(headSize)
	var path *fs.PathError
	switch {
	case err == nil || errors.Is(err, io.EOF):
	case !f.Stream:
		got.Err = err
		return got, false
	case errors.As(err, &path):
		got.Err = path.Err
		return got, false
	}
	b := beginning{head: head, stream: f.Stream}
	if logs.IsCompressed(head) {
		b.head = unpackedHead(head)
	}
	known, ok := recognise(b)
	if ok && known.add == nil {
		return got, true
	}
	d := document{name: f.Name, saved: content.ModTime(), content: content, text: text, read: counted}
	unpacked, err := compressed.Open(text)
	if err != nil {
		got.Err = err
		return got, false
	}
	if unpacked != nil {
		defer func() { _ = unpacked.Close() }()
		d.text = unpacked
	}
	switch {
	case ok:
		got.Kind = known.name
		got.Used, got.Err = known.add(r, ctx, d)
	case len(b.text()) == 0 && len(b.head) < headSize:
		got.Err = errors.New("the file is empty")
	case b.isJSON():
		got.Kind, got.Used, got.Err = r.unlabelled(ctx, d)
	default:
		got.Kind, got.Used, got.Err = r.dumps(d)
	}
	return got, false
}

// unpackedHead is what a compressed file begins with, as far as its own beginning tells.
func unpackedHead(head []byte) []byte {
	text, err := compressed.Open(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		return nil
	}
	defer func() { _ = text.Close() }()
	head = make([]byte, headSize)
	n, _ := io.ReadFull(text, head)
	return head[:n]
}

// A document is a file of which the beginning is known.
type document struct {
	name    string
	saved   time.Time // zero where that is unknown
	content Content
	text    io.Reader
	read    *counter // what was read of it
}

// dumps takes goroutine dumps, which is what a file is that is nothing else.
func (r *reader) dumps(d document) (kind string, used bool, err error) {
	counted := &counter{r: d.text}
	dumps, err := Dumps(d.name, counted)
	switch {
	case errors.Is(err, errNoDump): // nor anything else: what was tried last says nothing to whoever gave the file
		return "", false, errors.New("unrecognized format, skipped")
	case err != nil:
		return "", false, fmt.Errorf("unrecognized format, skipped: %w", err)
	}
	source := forensics.Source{
		Source: forensics.SourceGoroutines + ":" + d.name, Status: forensics.SourceRead, Bytes: counted.n,
	}
	if cut := CutDump(dumps); cut != "" {
		source.Status, source.Detail = forensics.SourceTruncated, cut
		err = fmt.Errorf("%s; the part that exists is judged", cut)
	}
	r.add(forensics.Evidence{Dumps: dumps, Coverage: []forensics.Source{source}})
	return forensics.SourceGoroutines, true, err
}

func (r *reader) mountTable(_ context.Context, d document) (used bool, err error) {
	part, err := Mountinfo(d.name, d.text)
	r.add(part)
	return true, err
}
