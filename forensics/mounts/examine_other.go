//go:build !linux

package mounts

import "errors"

func examine(string, int, func(string)) (failed string, err error) { return "", errors.ErrUnsupported }

func statusOf(error) Status { return StatusNotProbed }
