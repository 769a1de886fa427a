//go:build !linux

package live

import (
	"errors"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
)

func statDeleted(string) (holders.DeletedFile, error) {
	return holders.DeletedFile{}, errors.ErrUnsupported
}
