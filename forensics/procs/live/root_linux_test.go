package live

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestLinksThatAreNotInMemory has a server that would never answer: it must not be asked for a name.
func TestLinksThatAreNotInMemory(t *testing.T) {
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"dir/f": "x"}})
	fd, err := unix.Open(fuse.MountPoint(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	root := rootDir(fd)
	defer root.close()
	fuse.Hang()
	if link, err := root.readLink("/dir/f"); err == nil {
		t.Errorf("a link to %q where nothing was looked up yet", link)
	}
	if n := fuse.Unanswered(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}
