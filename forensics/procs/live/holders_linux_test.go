package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// mountAt mounts something for the test.
func mountAt(t testing.TB, source, dir, fsType string, flags uintptr, data string) mounts.Mount {
	t.Helper()
	if err := unix.Mount(source, dir, fsType, flags, data); err != nil {
		t.Skipf("mount %s: %v", fsType, err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return mountOn(t, dir)
}

// mountOn returns the topmost mount at dir.
func mountOn(t testing.TB, dir string) mounts.Mount {
	t.Helper()
	fsys, _ := machine(t)
	table, err := mountslive.Read(t.Context(), fsys, 0)
	if err != nil {
		t.Fatal(err)
	}
	at := table.Index().At(dir)
	if len(at) == 0 {
		t.Fatalf("nothing is mounted at %s", dir)
	}
	return at[len(at)-1]
}

func tmpfs(t testing.TB) (string, mounts.Mount) {
	t.Helper()
	machine(t) // skips without root
	dir := t.TempDir()
	return dir, mountAt(t, "tmpfs", dir, "tmpfs", 0, "")
}

// holdersOf returns what some processes hold.
func holdersOf(t testing.TB, pids ...int) []holders.Holder {
	t.Helper()
	fsys, opt := machine(t)
	result, err := Holders(t.Context(), fsys, HoldersOptions{
		Group: opt.Group, Keep: func(h *holders.Holder) bool { return slices.Contains(pids, h.PID) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.Holders
}

// on selects the holders of a superblock or mount.
func on(list []holders.Holder, keep func(holders.Holder) bool) []holders.Holder {
	found := []holders.Holder{}
	for _, h := range list {
		if keep(h) {
			h.FD, h.MountNS = 0, 0
			found = append(found, h)
		}
	}
	return found
}

// fileSystems are mounts of all sorts, made anew for each test.
var fileSystems = []struct {
	name  string
	mount func(t *testing.T) (dir string, m mounts.Mount)
}{
	{"tmpfs", func(t *testing.T) (string, mounts.Mount) { return tmpfs(t) }},
	{"bind", func(t *testing.T) (string, mounts.Mount) {
		from, _ := tmpfs(t)
		dir := t.TempDir()
		return dir, mountAt(t, from, dir, "", unix.MS_BIND, "")
	}},
	{"overlay", func(t *testing.T) (string, mounts.Mount) {
		base, _ := tmpfs(t)
		for _, name := range []string{"lower", "upper", "work"} {
			if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		data := "lowerdir=" + base + "/lower,upperdir=" + base + "/upper,workdir=" + base + "/work"
		return dir, mountAt(t, "overlay", dir, "overlay", 0, data)
	}},
	{"ext4", func(t *testing.T) (string, mounts.Mount) {
		machine(t)
		dir := t.TempDir()
		return dir, ext4(t, dir)
	}},
	{"stacked", func(t *testing.T) (string, mounts.Mount) {
		dir, _ := tmpfs(t)
		return dir, mountAt(t, "upper", dir, "tmpfs", 0, "")
	}},
}

// ext4 mounts a file system in a file.
func ext4(t *testing.T, dir string) mounts.Mount {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 64<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Skipf("needs mkfs.ext4: %v %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		t.Skipf("needs loop devices: %v %s", err, out)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return mountOn(t, dir)
}

func TestHoldersOfEveryKind(t *testing.T) {
	for _, system := range fileSystems {
		t.Run(system.name, func(t *testing.T) {
			dir, m := system.mount(t)
			everyKind(t, dir, m)
		})
	}
	t.Run("hung FUSE", func(t *testing.T) {
		machine(t)
		fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
		everyKind(t, fuse.MountPoint(), mountOn(t, fuse.MountPoint()), fuse.Hang)
	})
}

// everyKind holds a mount in every way and wants exactly that to be found.
func everyKind(t *testing.T, dir string, m mounts.Mount, before ...func()) {
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, h := range []struct {
		hold testfuse.Kind
		path string
		want holders.Holder
	}{
		{testfuse.Cwd, dir, holders.Holder{Kind: holders.HoldCwd, Path: dir, ByPath: true}},
		{testfuse.Root, dir, holders.Holder{Kind: holders.HoldRoot, Path: dir, ByPath: true}},
		{testfuse.FD, file("open"), holders.Holder{Kind: holders.HoldFD, Path: file("open")}},
		{testfuse.Mmap, file("mapped"), holders.Holder{Kind: holders.HoldMap, Path: file("mapped")}},
		{testfuse.Socket, file("s"), holders.Holder{Kind: holders.HoldSocket, Path: file("s"), ByPath: true}},
	} {
		h.want.MountID, h.want.Device = m.ID, m.Device
		t.Run(string(h.hold), func(t *testing.T) {
			p := testfuse.Hold(t, h.hold, h.path)
			for _, f := range before {
				f()
			}
			h.want.PID = p.PID()
			got := on(holdersOf(t, p.PID()), func(h holders.Holder) bool { return h.MountID == m.ID || h.Device == m.Device })
			if h.hold == testfuse.Root { // its working directory may be there, too
				got = slices.DeleteFunc(got, func(h holders.Holder) bool { return h.Kind == holders.HoldCwd })
			}
			if diff := cmp.Diff([]holders.Holder{h.want}, got); diff != "" {
				t.Errorf("holders (-want +got):\n%s", diff)
			}
		})
		if len(before) > 0 {
			return // the file system does not answer any more
		}
	}
	t.Run("exe", func(t *testing.T) {
		p := testfuse.Hold(t, testfuse.Exe, file("program"))
		got := on(holdersOf(t, p.PID()), func(h holders.Holder) bool { return h.MountID == m.ID })
		kinds := []holders.Kind{}
		for _, h := range got {
			if h.Path != file("program") || h.Device != m.Device {
				t.Errorf("holder %+v", h)
			}
			kinds = append(kinds, h.Kind)
		}
		if diff := cmp.Diff([]holders.Kind{holders.HoldExe, holders.HoldMap}, kinds); diff != "" {
			t.Errorf("kinds (-want +got):\n%s", diff)
		}
	})
}

func TestHoldersOfMisleadingPaths(t *testing.T) {
	t.Run("covered since", func(t *testing.T) {
		dir, lower := tmpfs(t)
		p := testfuse.Hold(t, testfuse.FD, filepath.Join(dir, "file"))
		mountAt(t, "upper", dir, "tmpfs", 0, "")
		one(t, p, holders.Holder{Kind: holders.HoldFD, Path: filepath.Join(dir, "file"), MountID: lower.ID, Device: lower.Device})
	})
	t.Run("detached", func(t *testing.T) {
		dir, m := tmpfs(t)
		p := testfuse.Hold(t, testfuse.FD, filepath.Join(dir, "file"))
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
		one(t, p, holders.Holder{Kind: holders.HoldFD, Path: "/file", MountID: m.ID, Detached: true})
	})
	t.Run("detached, mapped", func(t *testing.T) {
		dir, m := tmpfs(t)
		p := testfuse.Hold(t, testfuse.Mmap, filepath.Join(dir, "file"))
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
		one(t, p, holders.Holder{Kind: holders.HoldMap, Path: "/file", Device: m.Device, Detached: true})
	})
	t.Run("from the namespace that its process came from", func(t *testing.T) {
		dir, m := tmpfs(t)
		file, err := os.Create(filepath.Join(dir, "file"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		cmd := exec.Command("sleep", "1000")
		cmd.ExtraFiles = []*os.File{file}
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		got := on(holdersOf(t, cmd.Process.Pid), func(h holders.Holder) bool { return h.Path == file.Name() })
		want := []holders.Holder{{PID: cmd.Process.Pid, Kind: holders.HoldFD, Path: file.Name(), MountID: m.ID, Device: m.Device}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("holders (-want +got):\n%s", diff)
		}
	})
	t.Run("a directory mounted on itself since", func(t *testing.T) {
		dir, lower := tmpfs(t)
		sub := filepath.Join(dir, "sub")
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		p := testfuse.Hold(t, testfuse.FD, filepath.Join(sub, "file"))
		mountAt(t, sub, sub, "", unix.MS_BIND, "")
		fsys, opt := machine(t)
		result, err := Holders(t.Context(), fsys, HoldersOptions{Group: opt.Group}) // all: nothing is confirmed without need
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(result.Holders, func(h holders.Holder) bool { return h.PID == p.PID() && h.Path == filepath.Join(sub, "file") })
		if at < 0 || result.Holders[at].MountID != lower.ID || result.Holders[at].ByPath {
			t.Errorf("%+v, want a confirmed hold on mount %d", result.Holders[max(at, 0)], lower.ID)
		}
	})
	t.Run("covered by a mount on its directory", func(t *testing.T) {
		dir, lower := tmpfs(t)
		sub := filepath.Join(dir, "sub")
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		p := testfuse.Hold(t, testfuse.FD, filepath.Join(sub, "file"))
		mountAt(t, "upper", sub, "tmpfs", 0, "")
		fsys, opt := machine(t)
		result, err := Holders(t.Context(), fsys, HoldersOptions{Group: opt.Group, Keep: func(h *holders.Holder) bool { return h.MountID == lower.ID }})
		if err != nil {
			t.Fatal(err)
		}
		got := on(result.Holders, func(h holders.Holder) bool { return true })
		want := []holders.Holder{{PID: p.PID(), Kind: holders.HoldFD, Path: filepath.Join(sub, "file"), MountID: lower.ID, Device: lower.Device}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("holders of the mount below (-want +got):\n%s", diff)
		}
	})
	t.Run("deleted", func(t *testing.T) {
		dir, m := tmpfs(t)
		name := filepath.Join(dir, "file")
		p := testfuse.Hold(t, testfuse.FD, name)
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		one(t, p, holders.Holder{Kind: holders.HoldFD, Path: name, MountID: m.ID, Device: m.Device, Deleted: true})
	})
	t.Run("a program in memory", func(t *testing.T) {
		machine(t)
		fd, err := unix.MemfdCreate("program", unix.MFD_CLOEXEC)
		if err != nil {
			t.Skip(err)
		}
		program := os.NewFile(uintptr(fd), "program")
		defer func() { _ = program.Close() }()
		text, err := os.ReadFile("/bin/sleep")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := program.Write(text); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(fmt.Sprintf("/proc/self/fd/%d", fd), "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		for _, h := range holdersOf(t, cmd.Process.Pid) {
			if strings.Contains(h.Path, "memfd") {
				t.Errorf("%+v: it is on a mount of the kernel's own", h)
			}
		}
	})
	t.Run("from a namespace of which only a chroot is seen", func(t *testing.T) {
		from, _ := tmpfs(t)
		if err := os.WriteFile(filepath.Join(from, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		// The working directory stays outside, and so a relative path leads there.
		c := start(t, job{CPU: -1, Namespace: "process", From: from, To: to, Chroot: t.TempDir(), Open: filepath.Join(to, "file")[1:]})
		got := on(holdersOf(t, c.pid()), func(h holders.Holder) bool { return h.Path == filepath.Join(to, "file") })
		if len(got) != 1 || got[0].MountID == 0 || got[0].Detached {
			t.Errorf("holders %+v, want one that is not said to be detached", got)
		}
	})
	t.Run("on mounts of the kernel's own", func(t *testing.T) {
		machine(t)
		var own []*os.File
		name := append([]byte(fmt.Sprintf("nodeforensics-%d", os.Getpid())), 0)
		queue, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(&name[0])), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600, 0, 0, 0)
		if errno != 0 {
			t.Skipf("mq_open: %v", errno)
		}
		own = append(own, os.NewFile(queue, "queue"))
		secret, err := unix.MemfdSecret(unix.O_CLOEXEC)
		if err == nil { // secretmem may be off
			own = append(own, os.NewFile(uintptr(secret), "secret"))
		}
		defer func() {
			for _, f := range own {
				_ = f.Close()
			}
			_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(&name[0])), 0, 0)
		}()
		cmd := exec.Command("sleep", "1000")
		cmd.ExtraFiles = own
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		for _, h := range holdersOf(t, cmd.Process.Pid) {
			if h.Detached || h.FD >= 3 && h.FD < 3+len(own) {
				t.Errorf("%+v: nobody can unmount what it is on", h)
			}
		}
	})
	t.Run("a path that the kernel does not tell", func(t *testing.T) {
		dir, m := tmpfs(t)
		deep, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Repeat("x", 250)
		for range 20 {
			if err := deep.Mkdir(name, 0o755); err != nil {
				t.Fatal(err)
			}
			next, err := deep.OpenRoot(name)
			if err != nil {
				t.Fatal(err)
			}
			_ = deep.Close()
			deep = next
		}
		file, err := deep.Create("file")
		if err != nil {
			t.Fatal(err)
		}
		here, err := deep.Open(".")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _, _ = file.Close(), here.Close(), deep.Close() }()
		cmd := exec.Command("sh", "-c", "cd /proc/self/fd/4 && exec 4<&- && echo && exec sleep 1000")
		cmd.ExtraFiles = []*os.File{file, here}
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		fsys, opt := machine(t)
		result, err := Holders(t.Context(), fsys, HoldersOptions{
			Group: opt.Group, Keep: func(h *holders.Holder) bool { return h.PID == cmd.Process.Pid && h.Device == m.Device },
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []holders.Holder{{PID: cmd.Process.Pid, Kind: holders.HoldFD, Path: tooLong, MountID: m.ID, Device: m.Device}}
		if diff := cmp.Diff(want, on(result.Holders, func(holders.Holder) bool { return true })); diff != "" {
			t.Errorf("holders (-want +got):\n%s", diff)
		}
		if !slices.ContainsFunc(result.Problems, isTooLong) { // the working directory
			t.Errorf("problems %v, want one of a path that is too long", result.Problems)
		}
	})
	t.Run("names of all sorts", func(t *testing.T) {
		dir, m := tmpfs(t)
		name := filepath.Join(dir, "a\nb \x1b[31m\xff"+strings.Repeat("x", 200))
		p := testfuse.Hold(t, testfuse.FD, name)
		one(t, p, holders.Holder{Kind: holders.HoldFD, Path: name, MountID: m.ID, Device: m.Device})
	})
}

// one wants exactly one hold by a process on the file "file" or whatever want names.
func one(t *testing.T, p *testfuse.Process, want holders.Holder) {
	t.Helper()
	want.PID = p.PID()
	got := on(holdersOf(t, p.PID()), func(h holders.Holder) bool { return h.Path == want.Path })
	if diff := cmp.Diff([]holders.Holder{want}, got); diff != "" {
		t.Errorf("holders (-want +got):\n%s", diff)
	}
}

// TestCallbacksDoNotOverlap has a Keep and a Table that share memory, as callers' do, while this namespace and another one are
// looked through at the same time.
func TestCallbacksDoNotOverlap(t *testing.T) {
	dir, m := tmpfs(t)
	for range 500 { // that have to be asked about
		file, err := os.Create(filepath.Join(dir, "file"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
	}
	start(t, job{CPU: -1, Namespace: "process", From: dir, To: t.TempDir()})
	fsys, opt := machine(t)
	var inside, kept atomic.Int32
	alone := func(f func()) {
		if inside.Add(1) != 1 {
			t.Error("Keep or Table was called while another call had not returned")
		}
		f()
		inside.Add(-1)
	}
	_, err := Holders(t.Context(), fsys, HoldersOptions{
		Group: opt.Group,
		Keep: func(h *holders.Holder) bool {
			alone(func() { kept.Add(1) })
			return h.MountID == m.ID
		},
		Table: func(mounts.Table) {
			alone(func() {
				for before, n := kept.Load(), 0; kept.Load() == before && n < 200_000; n++ {
					runtime.Gosched()
				}
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}
