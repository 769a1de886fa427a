//go:build !linux

package procs

import "errors"

func statDeleted(string) (DeletedFile, error) { return DeletedFile{}, errors.ErrUnsupported }
