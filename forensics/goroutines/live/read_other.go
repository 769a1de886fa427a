//go:build !linux

package live

import (
	"context"
	"errors"
	"io"
)

// Read is not supported here: see read_linux.go.
func Read(context.Context, int, io.Writer) (Info, error) { return Info{}, errors.ErrUnsupported }
