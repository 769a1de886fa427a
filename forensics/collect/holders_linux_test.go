package collect_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/internal/testvm"
)

// TestCollectHolders holds a pod's volume, then unmounts it while a process in another mount namespace has a copy.
func TestCollectHolders(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	uid := testfuse.NewUID()
	volume := "cache-" + uid[:8]
	dir := filepath.Join(t.TempDir(), "pods", uid, "volumes/kubernetes.io~empty-dir", volume)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	file, err := os.Create(filepath.Join(dir, "deleted"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file.Name()); err != nil {
		t.Fatal(err)
	}
	holder := exec.Command("sleep", "1000")
	holder.ExtraFiles = []*os.File{file}
	startUntilEnd(t, holder)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	elsewhere := exec.Command("sleep", "1000")
	elsewhere.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	startUntilEnd(t, elsewhere)

	for _, query := range []string{dir, dir + "/below", uid, volume} {
		e, err := collect.Holders(t.Context(), collect.Options{}, query)
		if err != nil {
			t.Fatal(err)
		}
		found := collect.FindMounts(&e.Mounts, query)
		if len(found) != 1 || found[0].MountPoint != dir {
			t.Fatalf("%s: mounts %+v, want the one at %s", query, found, dir)
		}
		users := forensics.NewModel(&e).Uses().Of(found[0])
		if len(users.Holders) != 1 || users.Holders[0].PID != holder.Process.Pid || users.Holders[0].Kind != holders.HoldFD || users.Holders[0].Comm != "sleep" {
			t.Errorf("%s: holders %+v, want descriptor 3 of process %d", query, users.Holders, holder.Process.Pid)
		}
		deleted := slices.IndexFunc(e.MountUse.Deleted, func(f holders.DeletedFile) bool { return f.PID == holder.Process.Pid })
		if deleted < 0 || e.MountUse.Deleted[deleted].SizeBytes != 1<<20 || e.MountUse.Deleted[deleted].AllocatedBytes < 1<<20 {
			t.Errorf("%s: deleted files %+v, want one of 1 MiB", query, e.MountUse.Deleted)
		}
	}

	_ = holder.Process.Kill()
	_ = holder.Wait()
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	e, err := collect.Holders(t.Context(), collect.Options{}, uid)
	if err != nil {
		t.Fatal(err)
	}
	model := forensics.NewModel(&e)
	if !slices.ContainsFunc(model.Uses().Leaked(), func(l forensics.ForeignMount) bool { // another test may have copied it, too
		return l.Mount.MountPoint == dir && slices.Equal(model.Uses().Namespace(l.Namespace).PIDs, []int{elsewhere.Process.Pid})
	}) {
		t.Errorf("leaked %+v, want the copy of %s that process %d has", model.Uses().Leaked(), dir, elsewhere.Process.Pid)
	}
}

// TestHoldersOfRoot leaves out the threads of the kernel, which stand in the root for ever.
func TestHoldersOfRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: other users' links")
	}
	e, err := collect.Holders(t.Context(), collect.Options{}, "/")
	if err != nil {
		t.Fatal(err)
	}
	model := forensics.NewModel(&e)
	users := model.Uses().Of(collect.FindMounts(&e.Mounts, "/")[0])
	if len(users.Holders) == 0 {
		t.Error("nobody holds the root")
	}
	for _, h := range users.Holders {
		if p, ok := model.Process(h.PID); ok && p.Kernel {
			t.Errorf("%+v is a thread of the kernel", h)
		}
	}
}

// TestDeletedOnOverlay asks for the size of a file on an overlay whose layers are in memory, and not where one is on FUSE.
func TestDeletedOnOverlay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	for name, lower := range map[string]func(t *testing.T, base string) string{
		"in memory": func(_ *testing.T, base string) string { return filepath.Join(base, "lower") },
		"on FUSE": func(t *testing.T, _ string) string {
			return testfuse.Mount(t, t.TempDir(), testfuse.Options{}).MountPoint()
		},
	} {
		t.Run(name, func(t *testing.T) {
			base, dir := t.TempDir(), t.TempDir()
			if err := unix.Mount("tmpfs", base, "tmpfs", 0, ""); err != nil {
				t.Skipf("mount: %v", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(base, unix.MNT_DETACH) })
			for _, name := range []string{"lower", "upper", "work"} {
				if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			data := "lowerdir=" + lower(t, base) + ",upperdir=" + base + "/upper,workdir=" + base + "/work"
			if err := unix.Mount("overlay", dir, "overlay", 0, data); err != nil {
				t.Skipf("overlay: %v", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
			file, err := os.Create(filepath.Join(dir, "file"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.Write(make([]byte, 1<<20)); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(file.Name()); err != nil {
				t.Fatal(err)
			}
			holder := exec.Command("sleep", "1000")
			holder.ExtraFiles = []*os.File{file}
			startUntilEnd(t, holder)
			_ = file.Close()
			e, err := collect.Holders(t.Context(), collect.Options{}, dir)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(e.MountUse.Deleted, func(f holders.DeletedFile) bool { return f.PID == holder.Process.Pid })
			if sized := at >= 0 && e.MountUse.Deleted[at].SizeBytes == 1<<20; sized != (name == "in memory") {
				t.Errorf("deleted files %+v", e.MountUse.Deleted)
			}
		})
	}
}

// TestSocketOfAnotherNetwork binds a socket in a network namespace of its own.
func TestSocketOfAnotherNetwork(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	dir := t.TempDir()
	mountFor(t, "tmpfs", dir, "tmpfs", 0, "")
	holder := boundIn(t, unix.CLONE_NEWNET, filepath.Join(dir, "s"))
	users := usersOf(t, dir)
	if len(users.Holders) != 1 || users.Holders[0].PID != holder || users.Holders[0].Kind != holders.HoldSocket {
		t.Errorf("holders %+v, want the socket of process %d", users.Holders, holder)
	}
}

// TestSocketBoundElsewhere binds a socket in a mount namespace of its own, in the network namespace of the host: the name
// does not mean the host's mount, whose file system it keeps in use.
func TestSocketBoundElsewhere(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	dir := t.TempDir()
	mountFor(t, "tmpfs", dir, "tmpfs", 0, "")
	holder := boundIn(t, unix.CLONE_NEWNS, filepath.Join(dir, "s"))
	users := usersOf(t, dir)
	if len(users.Holders)+len(users.Kernel) != 0 {
		t.Errorf("the host's mount is held by %+v and %+v", users.Holders, users.Kernel)
	}
	if len(users.Elsewhere) != 1 || users.Elsewhere[0].PID != holder || users.Elsewhere[0].Kind != holders.HoldSocket {
		t.Errorf("elsewhere %+v, want the socket of process %d", users.Elsewhere, holder)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Errorf("the host's mount is busy: %v", err)
	}
}

// boundIn starts a process in a new namespace that has a socket open which was bound to a name there.
func boundIn(t *testing.T, namespace int, name string) int {
	t.Helper()
	holder := exec.Command("sleep", "1000")
	if err := testvm.OnThread(func() error {
		if err := unix.Unshare(namespace); err != nil {
			return err
		}
		if namespace == unix.CLONE_NEWNS { // as of a container: what happens there is nothing to the host
			if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
				return err
			}
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		socket := os.NewFile(uintptr(fd), "socket")
		defer func() { _ = socket.Close() }()
		holder.ExtraFiles = []*os.File{socket}
		return errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: name}), holder.Start())
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = holder.Process.Kill(), holder.Wait() })
	return holder.Process.Pid
}

func usersOf(t *testing.T, point string) forensics.MountUsers {
	t.Helper()
	e, err := collect.Holders(t.Context(), collect.Options{}, point)
	if err != nil {
		t.Fatal(err)
	}
	return forensics.NewModel(&e).Uses().Of(collect.FindMounts(&e.Mounts, point)[0])
}

// TestPinnedNamespaces has a mount namespace that no process is in any more, but a mount of its ns/mnt file.
func TestPinnedNamespaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if err := unix.Mount("", dir, "", unix.MS_PRIVATE, ""); err != nil { // else the namespace would hold itself
		t.Fatal(err)
	}
	pin := filepath.Join(dir, "pin")
	if err := os.WriteFile(pin, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	process := exec.Command("sleep", "1000")
	process.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	startUntilEnd(t, process)
	link := fmt.Sprintf("/proc/%d/ns/mnt", process.Process.Pid)
	name, err := os.Readlink(link)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(link, pin, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("bind mount of a namespace: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(pin, unix.MNT_DETACH) })
	_ = process.Process.Kill()
	_ = process.Wait()
	e, err := collect.Holders(t.Context(), collect.Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	empty := forensics.NewModel(&e).Uses().EmptyNamespaces()
	at := slices.IndexFunc(empty, func(n forensics.NamespaceProcesses) bool { return slices.Contains(n.MountedAt, pin) })
	if at < 0 || fmt.Sprintf("mnt:[%d]", empty[at].Namespace) != name || len(empty[at].PIDs) != 0 {
		t.Errorf("namespaces without processes %+v, want %s at %s", empty, name, pin)
	}
}

func startUntilEnd(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}
