//go:build !linux

package main

import (
	"errors"
	"os"
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

func openMemory(int) (read.Content, error) { return nil, errors.ErrUnsupported }

func findProcess(string) (int, error) { return 0, errors.ErrUnsupported }

func openNamed(name string) (read.Content, error) {
	info, err := os.Stat(name)
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

func readerMain(*os.File, *os.File) int { return exitFailed }
