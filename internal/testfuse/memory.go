package testfuse

import (
	"os"
	"testing"
)

// InMemory is a temporary directory in memory, where there is one: a file system in a file there does not wait for what other tests
// write to the disk.
func InMemory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "testfuse")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
