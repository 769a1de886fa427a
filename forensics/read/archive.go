package read

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/compressed"
)

// An archive is read from its beginning to its end. Members that are wanted again are found in the same way: in their order,
// that is one more reading for all of them.
type archive struct {
	name    string
	content Content
	text    *bufio.Reader
	reopen  func() (Content, error) // nil where it can be read only once
	ctx     context.Context
	walk    *walk
	next    int // the member that walk gives next
}

// A member is a regular file in an archive.
type member struct {
	name  string
	size  int64
	saved time.Time
	text  io.Reader
	// at opens it without reading what stands before it; nil where that is not possible.
	at func() (io.ReadCloser, error)
}

// archive adds the members.
func (x *expander) archive(a *archive, kind string) {
	a.ctx = x.ctx
	a.walk = &walk{ctx: x.ctx}
	if err := a.walk.enter(a.name+":", kind, a.text, a.content); err != nil {
		x.fail(a.name, err)
		return
	}
	for number := 0; ; number++ {
		m, err := a.walk.member()
		a.next = number + 1
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.As(err, new(memberError)):
			x.fail(m.name, err)
			continue
		case err == nil && !x.member(a, m, number):
			err = errMembers
		}
		if err != nil {
			x.fail(a.name, err)
			return
		}
	}
}

// member adds one, and says whether there is room for it.
func (x *expander) member(a *archive, m member, number int) bool {
	f := File{Name: m.name, member: true}
	if m.at != nil {
		f.Open = func() (Content, error) {
			r, err := m.at()
			if err != nil {
				return nil, err
			}
			return &memberContent{untilDone{x.ctx, r}, m.size, m.saved, r.Close}, nil
		}
		return x.add(f)
	}
	f.far, f.Stream = a.reopen != nil, a.reopen == nil
	first := true
	f.Open = func() (Content, error) {
		if first {
			first = false
			return &memberContent{Reader: m.text, size: m.size, saved: m.saved}, nil
		}
		if a.reopen == nil {
			return nil, errAgain
		}
		return a.member(number)
	}
	room := x.add(f)
	first = false // the archive goes on
	return room
}

var errAgain = errors.New("standard input can be read only once")

// member opens one by its number. Before the next one is opened, it is to be read.
func (a *archive) member(number int) (Content, error) {
	if a.walk == nil || a.next > number {
		if err := a.rewind(); err != nil {
			return nil, err
		}
	}
	for {
		m, err := a.walk.member()
		a.next++
		switch {
		case errors.As(err, new(memberError)):
			if a.next > number {
				return nil, err
			}
		case err != nil:
			a.walk = nil
			return nil, err
		case a.next > number:
			return &memberContent{Reader: untilDone{a.ctx, m.text}, size: m.size, saved: m.saved}, nil
		}
	}
}

func (a *archive) rewind() error {
	_ = a.content.Close()
	content, err := a.reopen()
	if err != nil {
		return err
	}
	a.content, a.text, a.walk, a.next = content, bufio.NewReaderSize(content, headSize), &walk{ctx: a.ctx}, 0
	return a.walk.enter(a.name+":", archiveKind(a.text), a.text, content)
}

// A walk goes over the members of an archive, and of those in it.
type walk struct {
	ctx    context.Context
	levels []level
}

// A level is one archive of a walk.
type level struct {
	prefix string
	// next is the next regular file, or [io.EOF].
	next func() (member, error)
	text *bufio.Reader // of the file that was the last: it ends with the next one
}

// member is the next one that is no archive; with an error that is not of the whole it has a name.
func (w *walk) member() (member, error) {
	for len(w.levels) > 0 {
		top := &w.levels[len(w.levels)-1]
		m, err := top.next()
		if errors.Is(err, io.EOF) {
			w.levels = w.levels[:len(w.levels)-1]
			continue
		}
		if m.name = top.prefix + m.name; err != nil {
			return m, err
		}
		top.text.Reset(m.text)
		m.text = top.text
		kind := archiveKind(top.text)
		if kind == "" {
			return m, nil
		}
		if len(w.levels) >= maxNesting {
			return m, errNesting
		}
		if err := w.enter(m.name+":", kind, top.text, nil); err != nil {
			return m, memberError{err}
		}
	}
	return member{}, io.EOF
}

// enter begins an archive. The content is that of the file, if the archive is all of it.
func (w *walk) enter(prefix, kind string, in *bufio.Reader, content Content) error {
	text, err := compressed.Open(in)
	if err != nil {
		return err
	}
	at, _ := content.(io.ReaderAt)
	var r io.Reader = in
	if text != nil {
		r, at = text, nil
	}
	l := level{prefix: prefix, text: bufio.NewReaderSize(nil, headSize)}
	switch {
	case kind == "zip" && at != nil && content.Size() > 0:
		l.next, err = zipMembers(at, content.Size())
	case kind == "zip":
		var whole []byte
		if whole, err = io.ReadAll(io.LimitReader(r, maxZipInMemory+1)); err == nil && len(whole) > maxZipInMemory {
			err = errLargeZip
		}
		if err == nil {
			l.next, err = zipMembers(bytes.NewReader(whole), int64(len(whole)))
		}
	case at != nil:
		l.next = tarMembers(untilDone{w.ctx, io.NewSectionReader(at, 0, 1<<62)}, at)
	default:
		l.next = tarMembers(untilDone{w.ctx, r}, nil)
	}
	if err == nil {
		w.levels = append(w.levels, l)
	}
	return err
}

// tarMembers goes over a tar; at is the file where it is nothing else.
func tarMembers(in untilDone, at io.ReaderAt) func() (member, error) {
	section, _ := in.Reader.(*io.SectionReader)
	r := tar.NewReader(in)
	if at != nil { // with a Seeker, what is not read is not read
		r = tar.NewReader(section)
	}
	return func() (member, error) {
		for {
			h, err := r.Next()
			switch {
			case errors.Is(err, io.EOF):
				return member{}, io.EOF
			case in.ctx.Err() != nil:
				return member{}, errLate
			case err != nil:
				return member{}, fmt.Errorf("the archive is damaged or incomplete: %w", err)
			case h.Typeflag != tar.TypeReg: // no link is followed, and no device is made
				continue
			}
			m := member{name: h.Name, size: h.Size, saved: h.ModTime, text: untilDone{in.ctx, r}}
			if at != nil && h.PAXRecords["GNU.sparse.major"] == "" && h.PAXRecords["GNU.sparse.map"] == "" {
				begin, _ := section.Seek(0, io.SeekCurrent)
				m.at = func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(at, begin, h.Size)), nil }
			}
			return m, nil
		}
	}
}

const (
	// maxZipInMemory bounds a zip that cannot be read at any place: from a stream, or in an archive. Its directory is its end.
	maxZipInMemory = 32 << 20
	// maxZipRatio is what no log reaches, and zeros do: deflate gives 1,032 at most.
	maxZipRatio = 900
	// maxZipDirectory bounds the directory of a zip, some 100,000 names.
	maxZipDirectory = 8 << 20
)

var errLargeZip = fmt.Errorf("a zip of more than %d MB in an archive or on standard input: extract it first, skipped", maxZipInMemory>>20)

// A memberError is of one member: those behind it can be read.
type memberError struct{ error }

func (e memberError) Unwrap() error { return e.error }

// failing ends with an error, or just ends.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// limitedAt fails when more was read than a directory has.
type limitedAt struct {
	io.ReaderAt
	left int64
}

// ReadAt implements [io.ReaderAt].
func (l *limitedAt) ReadAt(p []byte, at int64) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errMembers
	}
	return l.ReaderAt.ReadAt(p, at)
}

func zipMembers(at io.ReaderAt, size int64) (func() (member, error), error) {
	limited := &limitedAt{at, maxZipDirectory}
	r, err := zip.NewReader(limited, size)
	if err != nil {
		if errors.Is(err, errMembers) {
			return nil, err
		}
		return nil, fmt.Errorf("the archive is damaged or incomplete: %w", err)
	}
	limited.left = 1 << 62
	var open io.Closer
	return func() (member, error) {
		if open != nil {
			_ = open.Close()
			open = nil
		}
		for len(r.File) > 0 {
			f := r.File[0]
			r.File = r.File[1:]
			if f.Mode()&fs.ModeType != 0 {
				continue
			}
			m := member{name: f.Name, size: int64(min(f.UncompressedSize64, 1<<62)), saved: f.Modified}
			if m.size > maxZipInMemory && m.size/int64(max(f.CompressedSize64, 1)) > maxZipRatio {
				return m, memberError{compressed.ErrBomb}
			}
			text, err := f.Open()
			if err != nil { // of a method that is not known
				return m, memberError{fmt.Errorf("zip: %w", err)}
			}
			m.text, open, m.at = text, text, f.Open
			return m, nil
		}
		return member{}, io.EOF
	}, nil
}
