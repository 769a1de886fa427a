package forensics_test

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
	"github.com/nodeforensics/nodeforensics/forensics/testfuse"
)

// A held file system is what a matrix test has mounted.
type heldSystem struct {
	dir  string
	hang func() // nil if it cannot
	fuse bool
}

func mountFor(t *testing.T, source, dir, fsType string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, dir, fsType, flags, data); err != nil {
		t.Skipf("mount %s: %v", fsType, err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

var heldSystems = map[string]func(t *testing.T) heldSystem{
	"tmpfs": func(t *testing.T) heldSystem {
		dir := t.TempDir()
		mountFor(t, "tmpfs", dir, "tmpfs", 0, "")
		return heldSystem{dir: dir}
	},
	"bind": func(t *testing.T) heldSystem {
		from, dir := t.TempDir(), t.TempDir()
		mountFor(t, "tmpfs", from, "tmpfs", 0, "")
		mountFor(t, from, dir, "", unix.MS_BIND, "")
		return heldSystem{dir: dir}
	},
	"overlay": func(t *testing.T) heldSystem {
		base, dir := t.TempDir(), t.TempDir()
		mountFor(t, "tmpfs", base, "tmpfs", 0, "")
		for _, name := range []string{"lower", "upper", "work"} {
			if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		mountFor(t, "overlay", dir, "overlay", 0, "lowerdir="+base+"/lower,upperdir="+base+"/upper,workdir="+base+"/work")
		return heldSystem{dir: dir}
	},
	"ext4": func(t *testing.T) heldSystem {
		image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
		for _, command := range [][]string{
			{"truncate", "-s", "128M", image}, {"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir},
		} {
			if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
				t.Skipf("%s: %v %s", command[0], err, out)
			}
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		return heldSystem{dir: dir}
	},
	"hung FUSE": func(t *testing.T) heldSystem {
		fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
		return heldSystem{dir: fuse.MountPoint(), hang: fuse.Hang, fuse: true}
	},
}

// TestEveryHolder holds file systems of all sorts in every way at once, and wants that to be found and nothing else.
func TestEveryHolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	for name, mount := range heldSystems {
		t.Run(name, func(t *testing.T) {
			system := mount(t)
			want := append(holdByProcesses(t, system), holdByKernel(t, system)...)
			if system.hang != nil {
				system.hang()
			}
			e, err := forensics.CollectHolders(t.Context(), forensics.Options{}, system.dir)
			if err != nil {
				t.Fatal(err)
			}
			found := forensics.FindMounts(&e.Mounts, system.dir)
			if len(found) != 1 {
				t.Fatalf("mounts %+v", found)
			}
			users := forensics.NewModel(&e).UsersOf(found[0])
			got := []string{}
			for _, h := range users.Holders {
				got = append(got, fmt.Sprintf("%d %s deleted=%v", h.PID, h.Kind, h.Deleted))
			}
			for _, k := range users.Kernel {
				if k.Use != mounts.UseBind && k.Use != mounts.UseDevice { // of the file system's own making
					got = append(got, fmt.Sprintf("%s blocks=%v", k.Use, k.Blocks))
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := gocmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
				t.Errorf("holders (-want +got):\n%s", diff)
			}
		})
	}
}

// holdByProcesses has processes hold the mount in every way. Each of them is told by its directories, too.
func holdByProcesses(t *testing.T, system heldSystem) []string {
	t.Helper()
	var want []string
	expect := func(p *testfuse.Process, kind procs.HolderKind, deleted bool) {
		want = append(want, fmt.Sprintf("%d %s deleted=%v", p.PID(), kind, deleted))
	}
	file := func(name string) string { return filepath.Join(system.dir, name) }
	expect(testfuse.Hold(t, testfuse.Cwd, system.dir), procs.HoldCwd, false)
	root := testfuse.Hold(t, testfuse.Root, system.dir)
	expect(root, procs.HoldRoot, false)
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", root.PID())); err == nil && strings.HasPrefix(cwd, system.dir) {
		expect(root, procs.HoldCwd, false)
	}
	exe := testfuse.Hold(t, testfuse.Exe, file("program"))
	expect(exe, procs.HoldExe, false)
	expect(exe, procs.HoldMap, false)
	if !system.fuse { // that server makes no sockets
		expect(testfuse.Hold(t, testfuse.Socket, file("p")), procs.HoldSocket, false)
	}
	for _, deleted := range []bool{false, true} {
		for kind, hold := range map[testfuse.Kind]procs.HolderKind{testfuse.FD: procs.HoldFD, testfuse.Mmap: procs.HoldMap} {
			name := file(fmt.Sprintf("%s %v", kind, deleted))
			expect(testfuse.Hold(t, kind, name), hold, deleted)
			if deleted {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return want
}

// holdByKernel has the kernel use the mount in the ways that its file system can be used.
func holdByKernel(t *testing.T, system heldSystem) []string {
	t.Helper()
	var want []string
	expect := func(use mounts.KernelUse, blocks bool) { want = append(want, fmt.Sprintf("%s blocks=%v", use, blocks)) }
	mkdir := func(name string) string {
		dir := filepath.Join(system.dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	nested := mkdir("nested")
	if err := unix.Mount("tmpfs", nested, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	if !system.fuse { // there, the way to it hangs, and it goes with what it is mounted on
		t.Cleanup(func() { _ = unix.Unmount(nested, unix.MNT_DETACH) })
	}
	expect(mounts.UseMount, true)
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.InotifyAddWatch(watch, system.dir, unix.IN_CREATE); err != nil {
		t.Fatal(err)
	}
	watcher := exec.Command("sleep", "1000") // this process leaves itself out
	watcher.ExtraFiles = []*os.File{os.NewFile(uintptr(watch), "inotify")}
	startUntilEnd(t, watcher)
	_ = watcher.ExtraFiles[0].Close()
	expect(mounts.UseMark, false)
	if system.fuse {
		return want // this server makes no sockets, and a loop device on a hung one could not be taken away again
	}
	listener, err := net.Listen("unix", filepath.Join(system.dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	expect(mounts.UseSocket, true)
	image := filepath.Join(system.dir, "image")
	if err := os.WriteFile(image, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("losetup", "--show", "-f", image).Output(); err == nil {
		device := strings.TrimSpace(string(out))
		t.Cleanup(func() { _ = exec.Command("losetup", "-d", device).Run() })
		expect(mounts.UseLoop, true)
	}
	swap := filepath.Join(system.dir, "swap")
	if err := os.WriteFile(swap, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if exec.Command("mkswap", swap).Run() == nil && exec.Command("swapon", swap).Run() == nil { // not on tmpfs and overlay
		t.Cleanup(func() { _ = exec.Command("swapoff", swap).Run() })
		expect(mounts.UseSwap, true)
	}
	lower, upper, work, to := mkdir("lower"), mkdir("upper"), mkdir("work"), t.TempDir()
	data := "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work
	if err := unix.Mount("overlay", to, "overlay", 0, data); err == nil {
		t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) })
		expect(mounts.UseOverlay, false)
	}
	t.Log(cmp.Or(strings.Join(want, ", "), "nothing"))
	return want
}
