//go:build !linux

package probe_test

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
