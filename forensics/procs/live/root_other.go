//go:build !linux

package live

import "io/fs"

// A rootDir is the root directory of a process. It exists on Linux only.
type rootDir int

func (*visit) openRoot(string) rootDir { return -1 }

func (rootDir) close() {}

func (rootDir) readLink(string) (string, error) { return "", fs.ErrNotExist }
