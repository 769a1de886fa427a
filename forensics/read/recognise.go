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
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/compressed"
)

// headSize is how much of a file is looked at to tell what it is, in bytes.
const headSize = 64 << 10

// visit adds what one file says. Logs are told when all were seen.
func (r *reader) visit(ctx context.Context, f File) {
	defer r.recover(f.Name)
	if got, isLog := r.read(ctx, f); !isLog {
		r.finish(got)
	}
}

func (r *reader) read(ctx context.Context, f File) (got Result, isLog bool) {
	got = Result{Name: f.Name}
	content, err := f.Open()
	if err != nil {
		got.Err = err
		return got, r.opt.Only == forensics.SourceLogs && !f.member && r.addLog(ctx, f, nil, nil, err)
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
	b := beginning{head: head}
	if compressed.Format(head) != "" {
		b.head = unpackedHead(head)
	}
	r.file, r.node = f.Name, nodeOf(f.Name, b.head)
	system := false
	if small, ok := content.(*inMemory); ok && !b.isJSON() && r.opt.Only == "" {
		x := &systemText{}
		x.readText(f.Name, io.NewSectionReader(small, 0, small.Size()))
		system = r.addSystem(f.Name, r.node, x)
	}
	known, ok := recognise(b)
	objects := false
	if m, isText := content.(*inMemory); isText && r.opt.Only == "" {
		objects = r.objectsIn(ctx, document{name: f.Name, saved: m.saved, content: content, read: counted}, m)
	}
	if !ok && objects { // nothing else is in it
		return Result{Name: f.Name, Kind: forensics.SourceAPIDump, Used: true}, false
	}
	switch asLog := ok && known.add == nil; {
	case asLog && r.opt.Only != forensics.SourceGoroutines, r.opt.Only == forensics.SourceLogs && !f.member:
		delete(r.events, f.Name) // the log tells the result, of events that stood beside it as well
		return got, r.addLog(ctx, f, content, text, nil)
	case r.opt.Only == forensics.SourceLogs:
		got.Err = errNoLog
		return got, false
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
	case r.opt.Only == forensics.SourceGoroutines:
		got.Kind, got.Used, got.Err = r.dumps(d)
	case ok:
		got.Kind = known.name
		got.Used, got.Err = known.add(r, ctx, d)
	case bytes.HasPrefix(b.head, []byte("LPKSHHRH")):
		got.Err = errBinaryJournal
	case len(b.text()) == 0 && len(b.head) < headSize:
		got.Err = errors.New("the file is empty")
	case b.isJSON():
		got.Kind, got.Used, got.Err = r.unlabelled(ctx, d)
	default:
		got.Kind, got.Used, got.Err = r.dumps(d)
		if !got.Used && system {
			got = Result{Name: f.Name, Kind: "system", Used: true}
		}
	}
	return got, false
}

// errBinaryJournal is about a file of journald (systemd.io, Journal File Format).
var errBinaryJournal = errors.New("a binary journal, skipped: convert it with journalctl --file FILE -o export, and analyze what that prints")

var errNoLog = errors.New("not a log, skipped")

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
	counted, digester := &counter{r: d.text}, goroutines.Digester{}
	only := r.opt.Only == forensics.SourceGoroutines
	if only {
		digester.Bytes = manyStacks
	}
	dumps, err := Dumps(d.name, counted, digester)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case err == nil, only:
	case errors.Is(err, errNoDump): // nor anything else: what was tried last says nothing to whoever gave the file
		err = errors.New("unrecognized format, skipped")
	default:
		err = fmt.Errorf("unrecognized format, skipped: %w", err)
	}
	if err != nil && (!only || len(dumps) == 0) {
		return "", false, err
	}
	source := forensics.Source{
		Source: forensics.SourceGoroutines + ":" + d.name, Status: forensics.SourceRead, Bytes: counted.n,
	}
	if cut := CutDump(dumps); cut != "" && err == nil {
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
