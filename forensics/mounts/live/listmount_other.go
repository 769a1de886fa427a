//go:build !linux

package live

import (
	"context"
	"errors"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

func namespacesBut(context.Context, map[uint64]bool) ([]namespaceID, error) {
	return nil, errors.ErrUnsupported
}

func listMounts(context.Context, uint64) ([]mounts.Mount, error) { return nil, errors.ErrUnsupported }
