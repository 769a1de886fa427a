package read

import (
	"bytes"
	"io"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/compressed"
	"github.com/nodeforensics/nodeforensics/internal/pasted"
)

// cleaned is a file as a program wrote it, if it is text that somebody has pasted.
func cleaned(f File) File {
	open, asItIs := f.Open, false
	f.Open = func() (Content, error) {
		content, err := open()
		if err != nil || asItIs || content.Size() > pasted.MaxSize {
			return content, err
		}
		text, err := io.ReadAll(io.LimitReader(content, pasted.MaxSize+1))
		if err != nil || len(text) > pasted.MaxSize || !isText(text) {
			asItIs = !f.Stream
			return &rest{content, io.MultiReader(bytes.NewReader(text), failing{err}, content)}, nil
		}
		if better := pasted.Clean(text); better != nil {
			text = better
		} else {
			asItIs = !f.Stream
		}
		return &inMemory{bytes.NewReader(text), content.ModTime(), content}, nil
	}
	return f
}

// isText leaves out what has a format of its own.
func isText(text []byte) bool {
	start := bytes.TrimLeft(text, blanks)
	return bytes.IndexByte(text, 0) < 0 && !bytes.HasPrefix(text, []byte("__CURSOR=")) && compressed.Format(text) == "" && !bytes.HasPrefix(start, []byte("{\n")) && !bytes.HasPrefix(start, []byte(`{"schema"`)) &&
		!bytes.HasPrefix(start, []byte(`{"kind"`)) && !bytes.HasPrefix(start, []byte(`{"apiVersion"`))
}

// inMemory is a small file.
type inMemory struct {
	*bytes.Reader
	saved time.Time
	io.Closer
}

func (m *inMemory) ModTime() time.Time { return m.saved }
