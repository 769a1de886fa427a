//go:build !linux

package live

import "errors"

func examine(string, int, func(string)) (failed string, err error) { return "", errors.ErrUnsupported }

func errnoName(error) string { return "" }
