package live

import (
	"fmt"
	"os"
	"path/filepath"
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

// TestLinksAreReadWhileMountsComeAndGo reads a link, of which the names are in memory, while somebody mounts and unmounts: one reading of a hundred
// has the kernel ask to try again.
func TestLinksAreReadWhileMountsComeAndGo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	point, link := filepath.Join(dir, "point"), filepath.Join(dir, "link")
	if err := os.Mkdir(point, 0o755); err != nil || os.Symlink("target", link) != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	root := rootDir(fd)
	defer root.close()
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for err := error(nil); ; {
			select {
			case <-stop:
				stopped <- err
				return
			default:
			}
			if err = unix.Mount(dir, point, "", unix.MS_BIND, ""); err == nil {
				err = unix.Unmount(point, 0)
			}
		}
	}()
	failed := map[string]int{}
	for range 100_000 {
		if text, err := root.readLink(link); err != nil || text != "target" {
			failed[fmt.Sprintf("%q: %v", text, err)]++
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if len(failed) > 0 {
		t.Errorf("of 100,000 readings of a link failed %v", failed)
	}
}
