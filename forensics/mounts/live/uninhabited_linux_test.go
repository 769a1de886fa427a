package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// uninhabited lists the tables of namespaces without processes, and skips the test where the kernel does not tell.
func uninhabited(t *testing.T) map[uint64]mounts.Table {
	t.Helper()
	found := map[uint64]mounts.Table{}
	err := Uninhabited(t.Context(), openFS(t, "/"), &probe.Group{}, nil, func(table mounts.Table) { found[table.Namespace] = table })
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, errNotAll) || errors.Is(err, unix.EPERM) {
		t.Skipf("needs Linux 6.12 and root outside of containers: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestListMounts wants of a namespace what mountinfo says of it, with mounts of all sorts and one that hangs.
func TestListMounts(t *testing.T) {
	dir, fuseDir := t.TempDir(), t.TempDir()
	fuse := testfuse.Mount(t, fuseDir, testfuse.Options{Source: "10.0.0.5:/a b", Type: "fuse.ceph-fuse", Files: map[string]string{"below/": ""}})
	at := func(name string) string { return filepath.Join(dir, name) }
	guest := newGuest(t, func() error {
		err := errors.Join(newNamespace(), unix.Mount("none", dir, "tmpfs", 0, ""))
		for _, m := range []struct {
			name, propagation string
			flags             uintptr
		}{
			{"plain", "", 0}, {"a\nb \\ \x1b\xff", "", 0}, {"shared", "", unix.MS_SHARED}, {"unbindable", "", unix.MS_UNBINDABLE},
		} {
			err = errors.Join(err, os.Mkdir(at(m.name), 0o755), unix.Mount("src "+m.name, at(m.name), "tmpfs", 0, ""))
			if m.flags != 0 {
				err = errors.Join(err, unix.Mount("", at(m.name), "", m.flags, ""))
			}
		}
		for _, name := range []string{"slave", "bind", "deleted", "plain/gone"} {
			err = errors.Join(err, os.Mkdir(at(name), 0o755))
		}
		return errors.Join(err, unix.Mount(at("shared"), at("slave"), "", unix.MS_BIND, ""), unix.Mount("", at("slave"), "", unix.MS_SLAVE, ""),
			unix.Mount(filepath.Join(fuseDir, "below"), at("bind"), "", unix.MS_BIND, ""),
			unix.Mount(at("plain/gone"), at("deleted"), "", unix.MS_BIND, ""), os.Remove(at("plain/gone")))
	})
	uninhabited(t) // skips
	fuse.Hang()
	want, err := Read(t.Context(), openFS(t, "/"), guest.tid)
	if err != nil {
		t.Fatal(err)
	}
	list, err := namespacesBut(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ns := slices.IndexFunc(list, func(ns namespaceID) bool { return ns.inode == want.Namespace })
	if ns < 0 {
		t.Fatalf("namespace %d is not among %v", want.Namespace, list)
	}
	got, err := listMounts(t.Context(), list[ns].id)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Mounts {
		want.Mounts[i].Options, want.Mounts[i].SuperOptions = "", ""
	}
	if diff := cmp.Diff(want.Mounts, got); diff != "" {
		t.Errorf("-mountinfo +statmount:\n%s", diff)
	}
	if n := fuse.Unanswered(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
	if got, err := listMounts(t.Context(), 1<<62); err != nil || got != nil {
		t.Errorf("a namespace that has ended: %v, %v", got, err)
	}
}

// TestUninhabited leaves a namespace, whose root is a hung mount and which has another one below, to a descriptor: an open
// one, or one in the queue of a socket.
func TestUninhabited(t *testing.T) {
	for _, descriptor := range []string{"open", "in flight"} {
		t.Run(descriptor, func(t *testing.T) {
			root, below := t.TempDir(), t.TempDir()
			top := testfuse.Mount(t, root, testfuse.Options{Files: map[string]string{"below/": ""}})
			sub := testfuse.Mount(t, below, testfuse.Options{})
			namespace, number, tid := -1, uint64(0), 0
			var err error
			onThread(func() {
				tid = unix.Gettid()
				err = errors.Join(newNamespace(), unix.Mount(below, filepath.Join(root, "below"), "", unix.MS_BIND, ""))
				if err != nil {
					return
				}
				namespace, err = unix.Open("/proc/thread-self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
				number = inode(t, tid)
				err = errors.Join(err, unix.Chdir(root), unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH))
			})
			if err != nil {
				t.Skipf("needs root: %v", err)
			}
			if descriptor == "in flight" {
				namespace = queue(t, namespace)
			}
			t.Cleanup(func() { _ = unix.Close(namespace) })
			testfuse.Await(t, "the thread to end", func() bool {
				_, err := os.Lstat(fmt.Sprintf("/proc/self/task/%d", tid))
				return err != nil
			})
			top.Hang()
			sub.Hang()
			table, ok := uninhabited(t)[number]
			if !ok {
				t.Fatalf("namespace %d is not found", number)
			}
			for _, m := range []struct{ point, device string }{{"/", top.Device()}, {"/below", sub.Device()}} {
				at := table.Index().At(m.point)
				if len(at) != 1 || at[0].Device != m.device {
					t.Errorf("at %s: %+v, want superblock %s", m.point, at, m.device)
				}
			}
			if table.PID != 0 || table.Root != "/" || len(table.Mounts) != 2 {
				t.Errorf("table %+v", table)
			}
			if n := top.Unanswered() + sub.Unanswered(); n != 0 {
				t.Errorf("the servers were asked %d times", n)
			}
		})
	}
	t.Run("of a thread", func(t *testing.T) {
		guest := newGuest(t, newNamespace)
		if _, ok := uninhabited(t)[inode(t, guest.tid)]; ok {
			t.Error("the namespace of a thread counts as one without processes")
		}
	})
}

// queue sends a descriptor to a socket that nobody reads, and returns that socket: it is open nowhere else then.
func queue(t *testing.T, fd int) int {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(fd), nil, 0); err != nil {
		t.Fatal(err)
	}
	_, _ = unix.Close(fd), unix.Close(pair[0])
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", pair[1]))
	if err != nil || !strings.Contains(string(info), "scm_fds: 1\n") { // what a remedy tells to look at
		t.Errorf("fdinfo of the socket: %q, %v", info, err)
	}
	return pair[1]
}

// TestUninhabitedUnseen wants nothing where it cannot be told which namespaces have processes.
func TestUninhabitedUnseen(t *testing.T) {
	never := func(mounts.Table) { t.Error("a table was told") }
	if err := Uninhabited(t.Context(), openFS(t, t.TempDir()), nil, nil, never); err != nil {
		t.Errorf("a disk: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Uninhabited(ctx, openFS(t, "/"), nil, nil, never); err == nil {
		t.Error("no error, though the time was up")
	}
}
