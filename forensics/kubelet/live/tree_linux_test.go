package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

// writeTree makes files below root. A path that ends in "/" is a directory, a content that begins with "-> " makes a
// symbolic link, and the content "FIFO" a FIFO.
func writeTree(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(full, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		target, isLink := strings.CutPrefix(content, "-> ")
		switch {
		case isLink:
			must(t, os.Symlink(target, full))
		case content == "FIFO":
			must(t, unix.Mkfifo(full, 0o600))
		default:
			must(t, os.WriteFile(full, []byte(content), 0o644))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openFS(t testing.TB, root string) *hostfs.FS {
	t.Helper()
	fsys, err := hostfs.Open(root)
	must(t, err)
	t.Cleanup(func() { _ = fsys.Close() })
	return fsys
}

// fakeHost makes a file system from files.
func fakeHost(t testing.TB, files map[string]string) *hostfs.FS {
	t.Helper()
	root := t.TempDir()
	writeTree(t, root, files)
	return openFS(t, root)
}
