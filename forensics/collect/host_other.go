//go:build !linux

package collect

import (
	"context"
	"errors"
	"os"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

func (c *collector) nodeFacts(context.Context) (forensics.Evidence, error) {
	return forensics.Evidence{}, errors.ErrUnsupported
}
func selfPID() int                   { return os.Getpid() }
func privileged() bool               { return false }
func peakMemory() int64              { return 0 }
func ownNamespace(*hostfs.FS) uint64 { return 0 }
func ownUserNS(*hostfs.FS) uint64    { return 0 }
