// Package packed holds texts that are a part of the program in a fifth of their size.
package packed

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
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

// A File is one of several that are packed together.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Files are what [PackFiles] has packed, in its order.
func Files(packed string) (files []File, err error) {
	err = json.Unmarshal(Text(packed), &files)
	return files, err
}

// Named are the same by their names.
func Named(packed string) (map[string]string, error) {
	files, err := Files(packed)
	named := map[string]string{}
	for _, f := range files {
		named[f.Name] = f.Text
	}
	return named, err
}

// PackFiles packs files. The result depends on nothing else.
func PackFiles(files []File) ([]byte, error) {
	text, err := json.Marshal(files)
	if err != nil {
		return nil, err
	}
	return Pack(text)
}
