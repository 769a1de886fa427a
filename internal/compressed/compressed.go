// Package compressed opens what is compressed by gzip, zstd, bzip2 or xz, told by its first bytes, in bounded memory.
package compressed

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/gzip" // half as fast again as that of Go
	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"
)

const (
	// maxZstdWindow bounds the memory that a file may ask for; zstd itself writes at most 8 MiB unless told to.
	maxZstdWindow = 16 << 20
	// maxDictionary is that of xz -9, in bytes.
	maxDictionary = 64 << 20
	// bombSize is how many bytes come out before they are compared with those that went in; bombRatio is what no log and no
	// dump reaches, and zeros do: deflate gives 1,032 at most.
	bombSize, bombRatio = 256 << 20, 900
)

// ErrBomb says that the input is made to grow.
var ErrBomb = fmt.Errorf("it expands more than %d-fold: a decompression bomb, the rest is not read", bombRatio)

// A Text is what comes out of a decompressor.
type Text struct {
	// Format is "gzip", "zstd", "bzip2" or "xz".
	Format string
	// Written is when the text was written, if the format says so (RFC 1952); else zero.
	Written time.Time

	in, out counter
	done    func()
}

type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// Read implements [io.Reader].
func (t *Text) Read(p []byte) (int, error) {
	if t.out.n > bombSize && t.out.n/max(t.in.n, 1) > bombRatio {
		return 0, ErrBomb
	}
	n, err := t.out.Read(p)
	if errors.Is(err, xz.ErrBuf) { // it asks for more, and there is no more
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close frees memory; it does not close the input.
func (t *Text) Close() error {
	t.done()
	return nil
}

// formats are the first bytes (RFC 1952, RFC 8878, the xz and bzip2 file formats).
var formats = []struct{ name, magic string }{
	{"gzip", "\x1f\x8b"}, {"zstd", "\x28\xb5\x2f\xfd"}, {"xz", "\xfd7zXZ\x00"}, {"bzip2", "BZh"},
}

// Format says how text is compressed that begins with head, "" if it is not.
func Format(head []byte) string {
	for _, f := range formats {
		switch {
		case !bytes.HasPrefix(head, []byte(f.magic)):
		case f.name == "bzip2" && (len(head) < 10 || string(head[4:10]) != "1AY&SY"): // a word may begin so
		default:
			return f.name
		}
	}
	return ""
}

// Open begins to decompress; nil without an error is an input that is not compressed, of which nothing is lost. The
// buffer has at least 16 bytes.
func Open(in *bufio.Reader) (*Text, error) {
	head, err := in.Peek(10)
	format := Format(head)
	if format == "" {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return nil, err
	}
	t := &Text{Format: format, in: counter{Reader: in}, done: func() {}}
	switch format {
	case "gzip":
		z, err := gzip.NewReader(&t.in)
		if err != nil {
			return nil, err
		}
		if z.ModTime.Unix() > 0 {
			t.Written = z.ModTime
		}
		t.out.Reader = z
	case "zstd":
		z, err := zstd.NewReader(&t.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
		t.out.Reader, t.done = z, z.Close
	case "bzip2":
		t.out.Reader = bzip2.NewReader(&t.in)
	case "xz":
		z, err := xz.NewReader(&t.in, maxDictionary)
		if err != nil {
			return nil, err
		}
		t.out.Reader = z
	}
	return t, nil
}
