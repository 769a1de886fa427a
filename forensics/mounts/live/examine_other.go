//go:build !linux

package live

import (
	"errors"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

func examine(string, int, func(string)) (failed string, err error) { return "", errors.ErrUnsupported }

func statusOf(error) mounts.Status { return mounts.StatusNotProbed }
