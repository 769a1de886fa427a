//go:build !linux

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// regularFile is an open file.
type regularFile struct {
	*os.File
	info os.FileInfo
}

func (f *regularFile) ModTime() time.Time { return f.info.ModTime() }
func (f *regularFile) Size() int64        { return f.info.Size() }

// directory is one of the command line.
type directory struct {
	name string
	info os.FileInfo
}

func (*directory) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }
func (*directory) Close() error             { return nil }
func (*directory) Size() int64              { return 0 }
func (d *directory) ModTime() time.Time     { return d.info.ModTime() }

// Files are the regular files below it; links are not followed.
func (d *directory) Files() ([]read.File, error) {
	var files []read.File
	err := filepath.WalkDir(d.name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case path == d.name && err != nil:
			return err
		case err == nil && entry.Type().IsRegular():
			files = append(files, read.File{Name: path, Open: func() (read.Content, error) { return openNamed(path) }})
		}
		return nil
	})
	return files, err
}

func openMemory(int) (read.Content, error) { return nil, errors.ErrUnsupported }

func findProcess(string) (int, error) { return 0, errors.ErrUnsupported }

func openNamed(name string) (read.Content, error) {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return &directory{name, info}, nil
	}
	if err == nil {
		err = wantRegular(info.Mode())
	}
	if err != nil {
		return nil, reason(err)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, reason(err)
	}
	return &regularFile{f, info}, nil
}

// reason is an error without the name of the file.
func reason(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func isLocalFile(c read.Content) bool {
	_, ok := c.(*regularFile)
	return ok
}

func openDisk(name string) (read.Content, error) { return openNamed(name) }

func readerMain(*os.File, *os.File) int { return exitFailed }
