package forensics_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// TestCollectHolders holds a pod's volume, then unmounts it while a process in another mount namespace has a copy.
func TestCollectHolders(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	const uid = "5c948341-c030-4996-b888-f032577d97b0"
	dir := filepath.Join(t.TempDir(), "pods", uid, "volumes/kubernetes.io~empty-dir/cache")
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

	for _, query := range []string{dir, dir + "/below", uid, "cache"} {
		e, err := forensics.CollectHolders(t.Context(), forensics.Options{}, query)
		if err != nil {
			t.Fatal(err)
		}
		found := forensics.FindMounts(&e.Mounts, query)
		if len(found) != 1 || found[0].MountPoint != dir {
			t.Fatalf("%s: mounts %+v, want the one at %s", query, found, dir)
		}
		users := forensics.NewModel(&e).UsersOf(found[0])
		if len(users.Holders) != 1 || users.Holders[0].PID != holder.Process.Pid || users.Holders[0].Kind != procs.HoldFD || users.Holders[0].Comm != "sleep" {
			t.Errorf("%s: holders %+v, want descriptor 3 of process %d", query, users.Holders, holder.Process.Pid)
		}
		deleted := slices.IndexFunc(e.Held.Deleted, func(f procs.DeletedFile) bool { return f.PID == holder.Process.Pid })
		if deleted < 0 || e.Held.Deleted[deleted].SizeBytes != 1<<20 || e.Held.Deleted[deleted].AllocatedBytes < 1<<20 {
			t.Errorf("%s: deleted files %+v, want one of 1 MiB", query, e.Held.Deleted)
		}
	}

	_ = holder.Process.Kill()
	_ = holder.Wait()
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	e, err := forensics.CollectHolders(t.Context(), forensics.Options{}, uid)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(e.Held.Leaked, func(l forensics.LeakedMount) bool { return l.Mount.MountPoint == dir })
	if at < 0 {
		t.Fatalf("leaked %+v, want the copy of %s", e.Held.Leaked, dir)
	}
	n := forensics.NewModel(&e).Namespace(e.Held.Leaked[at].Namespace)
	if !slices.Equal(n.PIDs, []int{elsewhere.Process.Pid}) {
		t.Errorf("the namespace has processes %v, want %d", n.PIDs, elsewhere.Process.Pid)
	}
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
	e, err := forensics.CollectHolders(t.Context(), forensics.Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	empty := forensics.NewModel(&e).EmptyNamespaces()
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
