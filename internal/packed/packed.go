// Package packed holds texts that are a part of the program in a fifth of their size.
package packed

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
)

// Text is what [Pack] has packed; nil if that is damaged, which a test of whoever has it excludes.
func Text(packed string) []byte {
	r, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return text
}

// Pack packs a text. The result depends on nothing else.
func Pack(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// A File is one of a packed archive.
type File struct {
	Name string
	Text []byte
}

// Files are those of a packed archive, in its order.
func Files(packed string) ([]File, error) {
	var files []File
	r := tar.NewReader(bytes.NewReader(Text(packed)))
	for {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		files = append(files, File{head.Name, text})
	}
}

// PackFiles packs files. The result depends on nothing else.
func PackFiles(files []File) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o644, Size: int64(len(f.Text))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return Pack(b.Bytes())
}
