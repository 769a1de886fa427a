package read

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/compressed"
)

const (
	// maxMembers is how many files are taken of one archive, directory or call.
	maxMembers = 100_000
	// maxNesting is how deep archives may stand in one another: a bundle of a bundle.
	maxNesting = 2
)

var (
	errMembers = errors.New("more than 100,000 files: the rest is not read")
	errNesting = memberError{errors.New("an archive in an archive in an archive, skipped")}
	errEmpty   = errors.New("no regular file in this directory")
	errLate    = errors.New("not read to the end in time")
)

// A lister is a [Content] of a directory.
type lister interface {
	// Files are the regular files in it, at any depth. The error says what is missing.
	Files() ([]File, error)
}

// Each calls visit with each file, one after another. Instead of a directory or an archive (tar, zip, compressed or not) come the
// files in it, which are named "bundle.tar.gz:var/log/messages"; those of an archive can be opened until visit returns. Links and
// devices are left out, and nothing is written to disk. The results are of what cannot be opened, and of archives that are damaged.
func Each(ctx context.Context, files []File, visit func(context.Context, File)) []Result {
	var failed []Result
	x := &expander{ctx: ctx, visit: visit, fail: func(name string, err error) { failed = append(failed, Result{Name: name, Err: err}) }}
	for _, f := range files {
		x.expand(f, true)
	}
	return failed
}

// An expander replaces directories and archives (tar, zip, compressed or not) by the files in them, which are named
// "bundle.tar.gz:var/log/messages". Links and devices are left out, and nothing is written to disk.
type expander struct {
	ctx   context.Context
	visit func(context.Context, File)     // is told of each file, while its archive is open
	fail  func(name string, reason error) // is told of what cannot be opened, and of archives that are damaged
	count int
	now   time.Time // when the files were collected; zero where that is unknown
}

// add takes a file, unless there are too many.
func (x *expander) add(f File) bool {
	if x.count >= maxMembers {
		return false
	}
	x.count++
	x.visit(x.ctx, cleaned(f, x.now))
	return true
}

// expand looks at the beginning of a file.
func (x *expander) expand(f File, directories bool) {
	if x.ctx.Err() != nil {
		return
	}
	content, err := f.Open()
	if err != nil {
		x.fail(f.Name, err)
		return
	}
	if dir, ok := content.(lister); ok && directories {
		x.directory(f.Name, dir)
		_ = content.Close()
		return
	}
	buffered := bufio.NewReaderSize(content, headSize)
	kind := archiveKind(buffered)
	switch {
	case kind == "" && f.Stream:
		f.Open = func() (Content, error) { return &rest{Content: content, r: buffered}, nil }
		x.add(f)
	case kind == "":
		_ = content.Close()
		x.add(f)
	case f.Stream:
		x.archive(&archive{name: f.Name, content: &rest{Content: content, r: buffered}, text: buffered}, kind)
	default: // it stays open: its members are read from it
		x.archive(&archive{name: f.Name, content: content, text: buffered, reopen: f.Open}, kind)
	}
}

func (x *expander) directory(name string, dir lister) {
	files, err := dir.Files()
	for _, f := range files {
		if x.count >= maxMembers {
			err = errMembers
			break
		}
		f.member = true
		x.expand(f, false)
	}
	if err == nil && len(files) == 0 {
		err = errEmpty
	}
	if err != nil {
		x.fail(name, err)
	}
}

// rest is a content of which the beginning was looked at.
type rest struct {
	Content
	r io.Reader
}

// Read implements [io.Reader].
func (r *rest) Read(p []byte) (int, error) { return r.r.Read(p) }

// archiveKind is "tar" or "zip", compressed or not; "" is no archive.
func archiveKind(in *bufio.Reader) string {
	head, _ := in.Peek(headSize)
	if compressed.Format(head) != "" {
		text, err := compressed.Open(bufio.NewReader(bytes.NewReader(head)))
		if err != nil {
			return ""
		}
		defer func() { _ = text.Close() }()
		inner := make([]byte, 512)
		n, _ := io.ReadFull(text, inner)
		head = inner[:n]
	}
	switch {
	case len(head) >= 512 && string(head[257:262]) == "ustar":
		return "tar"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return "zip"
	}
	return ""
}

// memberContent is an open member.
type memberContent struct {
	io.Reader
	size  int64
	saved time.Time
	close func() error
}

func (m *memberContent) Size() int64        { return m.size }
func (m *memberContent) ModTime() time.Time { return m.saved }

// Close implements [io.Closer].
func (m *memberContent) Close() error {
	if m.close == nil {
		return nil
	}
	return m.close()
}

// untilDone ends with its context: what an archive says of its size may be a lie.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}
