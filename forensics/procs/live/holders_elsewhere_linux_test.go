package live

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestHoldersElsewhere(t *testing.T) {
	t.Run("another mount namespace", func(t *testing.T) {
		from, m := tmpfs(t)
		to := t.TempDir()
		c := start(t, job{CPU: -1, Namespace: "process", From: from, To: to, Dir: to})
		var tables []mounts.Table
		fsys, opt := machine(t)
		result, err := Holders(t.Context(), fsys, HoldersOptions{
			Group: opt.Group, Keep: func(h *holders.Holder) bool { return h.PID == c.pid() && h.Kind == holders.HoldCwd },
			Table: func(t mounts.Table) {
				t.Mounts = slices.Clone(t.Mounts)
				tables = append(tables, t)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Holders) != 1 || result.Holders[0].Device != m.Device || result.Holders[0].MountID == m.ID || result.Holders[0].Path != to {
			t.Fatalf("holders %+v, want the working directory %s on the bind mount of %s", result.Holders, to, m.Device)
		}
		h := result.Holders[0]
		// Another namespace may have ended during the scan, and this one may have got its number.
		if !slices.ContainsFunc(tables, func(t mounts.Table) bool {
			return t.Namespace == h.MountNS && slices.ContainsFunc(t.Mounts, func(m mounts.Mount) bool { return m.ID == h.MountID && m.MountPoint == to })
		}) {
			t.Errorf("mount %d is not at %s in the table of namespace %d", h.MountID, to, h.MountNS)
		}
	})
	t.Run("a socket bound in other namespaces", func(t *testing.T) {
		from, m := tmpfs(t)
		to := t.TempDir()
		c := start(t, job{CPU: -1, Namespace: "process", From: from, To: to, Network: true, Bind: filepath.Join(to, "s")})
		got := on(holdersOf(t, c.pid()), func(h holders.Holder) bool { return h.Kind == holders.HoldSocket })
		if len(got) != 1 || got[0].Device != m.Device || got[0].MountID == m.ID || got[0].MountID == 0 || got[0].Path != filepath.Join(to, "s") {
			t.Errorf("holders %+v, want the socket on the bind mount of %s", got, m.Device)
		}
	})
	t.Run("a socket bound below another root", func(t *testing.T) {
		dir, m := tmpfs(t)
		c := start(t, job{CPU: -1, Chroot: dir, Bind: "/s"})
		want := []holders.Holder{{PID: c.pid(), Kind: holders.HoldSocket, Path: filepath.Join(dir, "s"), MountID: m.ID, Device: m.Device, ByPath: true}}
		if diff := cmp.Diff(want, on(holdersOf(t, c.pid()), func(h holders.Holder) bool { return h.Kind == holders.HoldSocket })); diff != "" {
			t.Errorf("holders (-want +got):\n%s", diff)
		}
	})
	t.Run("a connection to a socket", func(t *testing.T) {
		dir, m := tmpfs(t)
		listener, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		client, err := net.Dial("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		server, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = server.Close() }()
		got := on(holdersOf(t, os.Getpid()), func(h holders.Holder) bool { return h.MountID == m.ID })
		one := holders.Holder{PID: os.Getpid(), Kind: holders.HoldSocket, Path: filepath.Join(dir, "s"), MountID: m.ID, Device: m.Device, ByPath: true}
		if diff := cmp.Diff([]holders.Holder{one, one}, got); diff != "" { // and not the client's end
			t.Errorf("holders (-want +got):\n%s", diff)
		}
		_ = listener.Close()
		if err := unix.Unmount(dir, 0); !errors.Is(err, unix.EBUSY) {
			t.Errorf("unmounted under a connection: %v", err)
		}
		_ = server.Close()
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("not unmounted without: %v", err)
		}
	})
	t.Run("chroot", func(t *testing.T) {
		dir, m := tmpfs(t)
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		c := start(t, job{CPU: -1, Chroot: dir, Dir: "/sub"})
		got := on(holdersOf(t, c.pid()), func(h holders.Holder) bool { return h.MountID == m.ID })
		want := []holders.Holder{
			{PID: c.pid(), Kind: holders.HoldRoot, Path: dir, MountID: m.ID, Device: m.Device, ByPath: true},
			{PID: c.pid(), Kind: holders.HoldCwd, Path: filepath.Join(dir, "sub"), MountID: m.ID, Device: m.Device, ByPath: true},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("holders (-want +got):\n%s", diff)
		}
	})
	t.Run("one thread in another mount namespace", func(t *testing.T) {
		from, m := tmpfs(t)
		to := t.TempDir()
		c := start(t, job{CPU: -1, Namespace: "thread", Second: true, From: from, To: to, Dir: to, Open: to})
		got := map[holders.Kind]int{}
		for _, h := range holdersOf(t, c.pid()) {
			if h.Device != m.Device {
				continue
			}
			if got[h.Kind] = h.TID; h.MountID == m.ID || h.MountNS == 0 || h.Detached {
				t.Errorf("%+v, want it on the copy in the thread's namespace", h)
			}
		}
		if diff := cmp.Diff(map[holders.Kind]int{holders.HoldCwd: c.tid, holders.HoldFD: 0}, got); diff != "" { // descriptors are shared
			t.Errorf("threads (-want +got):\n%s", diff)
		}
	})
	t.Run("one thread with another working directory", func(t *testing.T) {
		dir, m := tmpfs(t)
		c := start(t, job{CPU: -1, Second: true, OwnDir: true, Dir: dir})
		got := on(holdersOf(t, c.pid()), func(h holders.Holder) bool { return h.MountID == m.ID })
		want := []holders.Holder{{PID: c.pid(), TID: c.tid, Kind: holders.HoldCwd, Path: dir, MountID: m.ID, Device: m.Device, ByPath: true}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("holders (-want +got):\n%s", diff)
		}
	})
	t.Run("one thread with descriptors of its own", func(t *testing.T) {
		dir, m := tmpfs(t)
		ns := start(t, job{CPU: -1, Second: true, OwnFiles: true, Open: "/proc/self/ns/mnt"})
		fsys, opt := machine(t)
		result, err := Holders(t.Context(), fsys, HoldersOptions{Group: opt.Group, Keep: func(h *holders.Holder) bool { return false }})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(result.Namespaces, func(n holders.NamespaceHold) bool { return n.PID == ns.pid() && n.TID == ns.tid }) {
			t.Errorf("namespaces %+v, want one that thread %d holds", result.Namespaces, ns.tid)
		}
		c := start(t, job{CPU: -1, Second: true, OwnFiles: true, Open: dir})
		want := []holders.Holder{{PID: c.pid(), TID: c.tid, Kind: holders.HoldFD, Path: dir, MountID: m.ID, Device: m.Device}}
		if diff := cmp.Diff(want, on(holdersOf(t, c.pid()), func(h holders.Holder) bool { return h.MountID == m.ID })); diff != "" {
			t.Errorf("holders (-want +got):\n%s", diff)
		}
	})
	t.Run("a thread of a process whose first has ended", func(t *testing.T) {
		for name, own := range map[string]bool{"shared": false, "its own": true} {
			t.Run(name, func(t *testing.T) {
				dir, m := tmpfs(t)
				c := start(t, job{CPU: -1, Second: true, EndFirst: true, OwnFiles: own, OwnDir: own, Dir: dir, Open: dir})
				testfuse.Await(t, "a zombie", func() bool {
					text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid()))
					return err == nil && strings.Contains(string(text), ") Z ")
				})
				tid := map[bool]int{true: c.tid}[own]
				want := []holders.Holder{
					{PID: c.pid(), TID: tid, Kind: holders.HoldCwd, Path: dir, MountID: m.ID, Device: m.Device, ByPath: true},
					{PID: c.pid(), TID: tid, Kind: holders.HoldFD, Path: dir, MountID: m.ID, Device: m.Device},
				}
				if diff := cmp.Diff(want, on(holdersOf(t, c.pid()), func(h holders.Holder) bool { return h.MountID == m.ID })); diff != "" {
					t.Errorf("holders (-want +got):\n%s", diff)
				}
			})
		}
	})
	t.Run("another PID namespace", func(t *testing.T) {
		dir, m := tmpfs(t)
		cmd := exec.Command("sleep", "1000")
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC, Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		got := on(holdersOf(t, cmd.Process.Pid), func(h holders.Holder) bool { return h.Device == m.Device })
		if len(got) != 1 || got[0].Kind != holders.HoldCwd || got[0].Path != dir || got[0].MountID == m.ID {
			t.Errorf("holders %+v, want the working directory %s in the copy of mount %d", got, dir, m.ID)
		}
	})
	t.Run("a namespace held by a descriptor", func(t *testing.T) {
		machine(t)
		p := testfuse.Hold(t, testfuse.FD, "/proc/self/ns/mnt")
		fsys, opt := machine(t)
		result, err := Holders(t.Context(), fsys, HoldersOptions{Group: opt.Group})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(result.Namespaces, func(n holders.NamespaceHold) bool { return n.PID == p.PID() && n.Namespace != 0 }) {
			t.Errorf("process %d holds its own namespace; found %+v", p.PID(), result.Namespaces)
		}
	})
}
