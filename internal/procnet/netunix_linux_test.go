package procnet_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/procnet"
)

// TestBoundSocketsOfForgedLines has a socket with newlines in its name, which the kernel prints as they are: it says of a socket
// that there is none of, or of another process's, that it is bound on a mount.
func TestBoundSocketsOfForgedLines(t *testing.T) {
	t.Chdir(t.TempDir())
	listen := func(name string) error {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		return unix.Bind(fd, &unix.SockaddrUnix{Name: name})
	}
	forged := "/var/lib/kubelet/pods/5c948341-c030-4996-b888-f032577d97b0/v"
	honest, err := filepath.Abs("s")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{honest, "\n0: 2 0 10000 1 1 99999 " + forged, "\n0000: 00000002 00000000 00010000 0001 01 99999 /x/s"} {
		if err := listen(name); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
	}
	whole := "\n0000000016626fc4: 00000002 00000000 00010000 0001 01 1 " + forged
	if err := listen(whole); err == nil {
		t.Errorf("%q is a name of %d bytes: a line that looks like the kernel's is to leave no room for it", whole, len(whole))
	}
	text, err := os.ReadFile("/proc/net/unix")
	list := procnet.BoundSockets(text)
	if err != nil || !slices.ContainsFunc(list, func(s procnet.BoundSocket) bool { return s.Name == honest }) {
		t.Errorf("%s is not among %d sockets, %v", honest, len(list), err)
	}
	for _, s := range list {
		if s.Name == forged || s.Name == "/x/s" {
			t.Errorf("%+v: no socket has that name", s)
		}
	}
}
