package collect

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// readOwn reads a file of the person who runs this, not of the node that is examined.
func readOwn(name string, limit int64) ([]byte, error) {
	own, err := hostfs.Open("/")
	if err != nil {
		return nil, err
	}
	defer func() { _ = own.Close() }()
	text, err := own.ReadFile(name, limit)
	return text, ownError(name, err)
}

// openOwn opens one.
func openOwn(name string) (*hostfs.File, error) {
	own, err := hostfs.Open("/")
	if err != nil {
		return nil, err
	}
	defer func() { _ = own.Close() }()
	f, err := own.OpenFile(name)
	return f, ownError(name, err)
}

func ownError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return err
}
