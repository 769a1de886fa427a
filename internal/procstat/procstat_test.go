package procstat_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/procstat"
)

// stats are files by their paths.
type stats map[string]string

func (s stats) ReadFile(path string, _ int64) ([]byte, error) {
	if text, ok := s[path]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}
func (stats) ReadDir(string, int) ([]nodefs.Entry, error) { return nil, fs.ErrNotExist }
func (stats) ReadLink(string) (string, error)             { return "", fs.ErrNotExist }
func (stats) Resolve(string) (string, error)              { return "", fs.ErrNotExist }
func (stats) Lstat(string) (nodefs.Info, error)           { return nodefs.Info{}, fs.ErrNotExist }

func TestSame(t *testing.T) {
	fsys := stats{
		"/proc/7/stat": "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1\n",
		"/proc/8/stat": "8 (cut) S 1 7",
		"/proc/9/stat": "",
	}
	for name, tc := range map[string]struct {
		pid   int
		ticks uint64
		want  error
	}{
		"the same":    {7, 12345, nil},
		"another":     {7, 12346, procstat.ErrEnded},
		"not known":   {7, 0, nil},
		"a cut line":  {8, 1, procstat.ErrEnded},
		"empty":       {9, 1, procstat.ErrEnded},
		"not there":   {10, 1, fs.ErrNotExist},
		"none, known": {10, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := procstat.Same(fsys, tc.pid, tc.ticks); !errors.Is(err, tc.want) {
				t.Errorf("error = %v; want %v", err, tc.want)
			}
		})
	}
}
