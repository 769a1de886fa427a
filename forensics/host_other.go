//go:build !linux

package forensics

import (
	"context"
	"errors"
	"os"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

func (c *collector) nodeFacts(context.Context) (Evidence, error) {
	return Evidence{}, errors.ErrUnsupported
}
func selfPID() int                   { return os.Getpid() }
func privileged() bool               { return false }
func peakMemory() int64              { return 0 }
func ownNamespace(*hostfs.FS) uint64 { return 0 }
func ownUserNS(*hostfs.FS) uint64    { return 0 }
