package collect_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestBusyByCopy asks the kernel which holders of other mounts make a mount busy: those of the copies that propagation
// ties to it.
func TestBusyByCopy(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	for name, c := range map[string]struct {
		propagation uintptr // of the namespace that the holder is in, 0 for that of the mount
		over        string  // where on the copy something is mounted, if it is
		busy        bool
	}{
		"a namespace that receives, as with HostToContainer": {unix.MS_SLAVE, "", true},
		"one that receives and sends, as with Bidirectional": {unix.MS_SHARED, "", true},
		"one with private copies":                            {unix.MS_PRIVATE, "", false},
		"a copy that something is mounted on":                {unix.MS_SLAVE, "over", false},
		"a copy that is covered":                             {unix.MS_SLAVE, ".", true},
		"the directory above is mounted twice":               {0, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			above, twin := t.TempDir(), t.TempDir()
			mountFor(t, "tmpfs", above, "tmpfs", 0, "")
			if err := errors.Join(unix.Mount("", above, "", unix.MS_SHARED, ""), os.Mkdir(filepath.Join(above, "m"), 0o700)); err != nil {
				t.Fatal(err)
			}
			mountFor(t, above, twin, "", unix.MS_BIND, "")
			point, path := filepath.Join(above, "m"), filepath.Join(above, "m")
			mountFor(t, "tmpfs", point, "tmpfs", 0, "")
			if err := os.Mkdir(filepath.Join(point, "over"), 0o700); err != nil {
				t.Fatal(err)
			}
			if c.propagation == 0 {
				path = filepath.Join(twin, "m")
			}
			holder := exec.Command("sleep", "1000")
			if err := testvm.OnThread(func() error {
				var err error
				if c.propagation != 0 {
					err = errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|c.propagation, ""))
				}
				file, openErr := os.Open(path)
				defer func() { _ = file.Close() }()
				holder.ExtraFiles = []*os.File{file}
				if err = errors.Join(err, openErr); c.over != "" {
					err = errors.Join(err, unix.Mount("tmpfs", filepath.Join(point, c.over), "tmpfs", 0, ""))
				}
				return errors.Join(err, holder.Start())
			}); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = holder.Process.Kill(), holder.Wait() }()
			users := usersOf(t, point)
			is := func(h forensics.HolderProcess) bool { return h.PID == holder.Process.Pid }
			if got := slices.ContainsFunc(users.Holders, is); got != c.busy || slices.ContainsFunc(users.Elsewhere, is) == c.busy {
				t.Errorf("holders %+v, elsewhere %+v: want process %d among the first: %v", users.Holders, users.Elsewhere, holder.Process.Pid, c.busy)
			}
			if (len(users.Copies) > 0) != c.busy {
				t.Errorf("copies %+v, want some: %v", users.Copies, c.busy)
			}
			if err := unix.Unmount(point, 0); errors.Is(err, unix.EBUSY) != c.busy || !c.busy && err != nil {
				t.Errorf("umount: %v, want busy: %v", err, c.busy)
			}
		})
	}
}
