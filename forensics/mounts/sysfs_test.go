package mounts

import (
	"io/fs"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// A tree has texts of files, and nothing else of a node.
type tree struct {
	nodefs.FS
	texts map[string]string
}

func (t tree) ReadFile(path string, _ int64) ([]byte, error) {
	if text, ok := t.texts[path]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func TestFUSEWaiting(t *testing.T) {
	fsys := tree{texts: map[string]string{
		"/sys/fs/fuse/connections/46/waiting":      "3\n",
		"/sys/fs/fuse/connections/8388625/waiting": "5\n",
		"/sys/fs/fuse/connections/47/waiting":      "text\n",
	}}
	for device, want := range map[string]int{
		"0:46": 3,
		"8:17": 5, // fuseblk: 8<<20 + 17
		"0:47": -1, "0:48": -1, "46": -1, "0:": -1, ":46": -1, "": -1, "0:4x": -1, "0:../46": -1,
	} {
		n, ok := FUSEWaiting(fsys, device)
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("FUSEWaiting(%q) = %d, %t; want %d", device, n, ok, want)
		}
	}
}

func TestFUSEConnection(t *testing.T) {
	for device, want := range map[string]uint64{"0:46": 46, "7:0": 7340032, "8:17": 8388625, "x": 0, "": 0, "8:": 0} {
		if got := FUSEConnection(device); got != want {
			t.Errorf("connection of %q %d, want %d", device, got, want)
		}
	}
}
