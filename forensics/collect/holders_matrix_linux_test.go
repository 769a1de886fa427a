package collect_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// A matrixSystem is a file system that a test of the matrix has mounted.
type matrixSystem struct {
	dir    string
	fuse   *testfuse.Server // nil if it cannot hang
	swap   bool             // files on it can be swap space
	layers bool             // directories on it can be the upper layer of an overlay
	full   bool             // it is as many overlays on each other as the kernel allows (FILESYSTEM_MAX_STACK_DEPTH)
}

func mountFor(t *testing.T, source, dir, fsType string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, dir, fsType, flags, data); err != nil {
		t.Skipf("mount %s: %v", fsType, err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

var matrixSystems = map[string]func(t *testing.T) matrixSystem{
	"tmpfs": func(t *testing.T) matrixSystem {
		dir := t.TempDir()
		mountFor(t, "tmpfs", dir, "tmpfs", 0, "")
		return matrixSystem{dir: dir, layers: true}
	},
	"bind": func(t *testing.T) matrixSystem {
		from, dir := t.TempDir(), t.TempDir()
		mountFor(t, "tmpfs", from, "tmpfs", 0, "")
		mountFor(t, from, dir, "", unix.MS_BIND, "")
		return matrixSystem{dir: dir, layers: true}
	},
	"overlay": func(t *testing.T) matrixSystem {
		base := t.TempDir()
		mountFor(t, "tmpfs", base, "tmpfs", 0, "")
		return matrixSystem{dir: overlayOn(t, base)}
	},
	"overlay on overlay": func(t *testing.T) matrixSystem {
		base, upper := t.TempDir(), t.TempDir()
		mountFor(t, "tmpfs", base, "tmpfs", 0, "")
		mountFor(t, "tmpfs", upper, "tmpfs", 0, "")
		return matrixSystem{dir: overlayOn(t, upper, overlayOn(t, base)), full: true}
	},
	"overlay on ext4": func(t *testing.T) matrixSystem {
		return matrixSystem{dir: overlayOn(t, imageOf(t, "ext4", testfuse.InMemory(t)))}
	},
	"ext4": func(t *testing.T) matrixSystem {
		return matrixSystem{dir: imageOf(t, "ext4", testfuse.InMemory(t)), swap: true, layers: true}
	},
	"ext4 on ext4": func(t *testing.T) matrixSystem {
		return matrixSystem{dir: imageOf(t, "ext4", imageOf(t, "ext4", testfuse.InMemory(t))), swap: true, layers: true}
	},
	"xfs": func(t *testing.T) matrixSystem {
		return matrixSystem{dir: imageOf(t, "xfs", testfuse.InMemory(t)), swap: true, layers: true}
	},
	"btrfs": func(t *testing.T) matrixSystem {
		return matrixSystem{dir: imageOf(t, "btrfs", testfuse.InMemory(t)), swap: true, layers: true}
	},
	"hung FUSE": func(t *testing.T) matrixSystem {
		fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
		return matrixSystem{dir: fuse.MountPoint(), fuse: fuse}
	},
}

// imageOf mounts a file system that is in a file below a directory.
func imageOf(t *testing.T, fsType, below string) string {
	t.Helper()
	image, dir := filepath.Join(below, "image of "+fsType), t.TempDir()
	tool := "mkfs." + fsType
	size := map[string]string{"mkfs.ext4": "64M", "mkfs.xfs": "400M", "mkfs.btrfs": "200M"}[tool] // sparse
	for _, command := range [][]string{{"truncate", "-s", size, image}, {tool, "-q", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%s: %v %s", command[0], err, out)
		}
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// overlayOn mounts an overlay whose upper layer is in a directory, over some others or one beside it.
func overlayOn(t *testing.T, base string, lower ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"lower", "upper", "work"} {
		if err := os.MkdirAll(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if len(lower) == 0 {
		lower = []string{filepath.Join(base, "lower")}
	}
	mountFor(t, "overlay", dir, "overlay", 0, "lowerdir="+strings.Join(lower, ":")+",upperdir="+base+"/upper,workdir="+base+"/work")
	return dir
}

// TestEveryHolder holds file systems of all sorts in every way at once, and wants that to be found and nothing else.
func TestEveryHolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	t.Parallel()
	for name, mount := range matrixSystems {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			system := mount(t)
			want := append(holdByProcesses(t, system), holdByKernel(t, system)...)
			if system.fuse != nil {
				settle(t, system)
				system.fuse.Hang()
				t.Cleanup(system.fuse.Heal) // before all that goes through it
			}
			e, err := collect.Holders(t.Context(), collect.Options{}, system.dir)
			if err != nil {
				t.Fatal(err)
			}
			if system.fuse != nil && len(system.fuse.Own()) > 0 {
				t.Errorf("the server was asked: %v", system.fuse.Own())
			}
			found := collect.FindMounts(&e.Mounts, system.dir)
			if len(found) != 1 {
				t.Fatalf("mounts %+v", found)
			}
			users := forensics.NewModel(&e).Uses().Of(found[0])
			got := []string{}
			for _, h := range users.Holders {
				got = append(got, fmt.Sprintf("%d %s deleted=%v", h.PID, h.Kind, h.Deleted))
			}
			for _, k := range users.Kernel {
				if k.Use != holders.UseBind && k.Use != holders.UseDevice { // of the file system's own making
					got = append(got, fmt.Sprintf("%s blocks=%v", k.Use, k.Blocks))
				}
			}
			busyNames(t, &e, users)
			slices.Sort(want)
			slices.Sort(got)
			if diff := gocmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
				t.Errorf("holders (-want +got):\n%s", diff)
			}
		})
	}
}

// busyNames wants unmount-busy to name all users of a mount of which it knows that it does not answer.
func busyNames(t *testing.T, e *forensics.Evidence, users forensics.MountUsers) {
	t.Helper()
	m := users.Mount
	e.Probes = append(e.Probes, mounts.Probe{MountID: m.ID, Device: m.Device, MountPoint: m.MountPoint, Call: "statx", Pending: true, Seconds: 60, Awake: 60})
	findings := forensics.Analyze(e, only(t, "unmount-busy")).Findings
	at := slices.IndexFunc(findings, func(f forensics.Finding) bool { return f.Subject == forensics.MountEntity(m.ID) })
	if at < 0 {
		t.Errorf("unmount-busy says nothing of mount %d: %+v", m.ID, findings)
		return
	}
	for _, h := range users.Holders {
		if want := fmt.Sprintf("process %d (", h.PID); !strings.Contains(findings[at].Detail, want) {
			t.Errorf("unmount-busy does not name %s…): %s", want, findings[at].Detail)
		}
	}
	for _, k := range users.Kernel {
		if k.Use != holders.UseMark && !strings.Contains(findings[at].Detail, k.What) {
			t.Errorf("unmount-busy does not name %s %s: %s", k.Use, k.What, findings[at].Detail)
		}
	}
}

// holdByProcesses has processes hold the mount in every way. Each of them is told by its directories, too.
func holdByProcesses(t *testing.T, system matrixSystem) []string {
	t.Helper()
	var want []string
	expect := func(p *testfuse.Process, kind holders.Kind, deleted bool) {
		want = append(want, fmt.Sprintf("%d %s deleted=%v", p.PID(), kind, deleted))
	}
	file := func(name string) string { return filepath.Join(system.dir, name) }
	expect(testfuse.Hold(t, testfuse.Cwd, system.dir), holders.HoldCwd, false)
	root := testfuse.Hold(t, testfuse.Root, system.dir)
	expect(root, holders.HoldRoot, false)
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", root.PID())); err == nil && strings.HasPrefix(cwd, system.dir) {
		expect(root, holders.HoldCwd, false)
	}
	exe := testfuse.Hold(t, testfuse.Exe, file("program"))
	expect(exe, holders.HoldExe, false)
	expect(exe, holders.HoldMap, false)
	expect(testfuse.Hold(t, testfuse.Socket, file("p")), holders.HoldSocket, false)
	for _, deleted := range []bool{false, true} {
		for kind, hold := range map[testfuse.Kind]holders.Kind{testfuse.FD: holders.HoldFD, testfuse.Mmap: holders.HoldMap} {
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
func holdByKernel(t *testing.T, system matrixSystem) []string {
	t.Helper()
	var want []string
	expect := func(use holders.KernelUse, blocks bool) {
		want = append(want, fmt.Sprintf("%s blocks=%v", use, blocks))
	}
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
	if system.fuse == nil { // there, the way to it hangs, and it goes with what it is mounted on
		t.Cleanup(func() { _ = unix.Unmount(nested, unix.MNT_DETACH) })
	}
	expect(holders.UseMount, true)
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
	expect(holders.UseMark, false)
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0) // of package net, closing would unlink it
	if err == nil {
		err = unix.Bind(socket, &unix.SockaddrUnix{Name: filepath.Join(system.dir, "s")})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	expect(holders.UseSocket, true)
	loop(t, system.dir)
	expect(holders.UseLoop, true)
	switch on := swapOn(t, filepath.Join(system.dir, "swap")); {
	case on != system.swap:
		t.Errorf("swap space: %v, want %v", on, system.swap)
	case on:
		expect(holders.UseSwap, true)
	}
	if system.layers {
		below := mkdir("layers")
		overlayOn(t, below)
		expect(holders.UseOverlay, false)
	} else if upper := t.TempDir(); !system.full {
		mountFor(t, "tmpfs", upper, "tmpfs", 0, "")
		overlayOn(t, upper, mkdir("lower"))
		expect(holders.UseOverlay, false)
	}
	t.Log(cmp.Or(strings.Join(want, ", "), "nothing"))
	return want
}

// settle waits until the server has answered what was asked so far, also what the kernel asks by itself some time after a file was
// closed or written.
func settle(t *testing.T, system matrixSystem) {
	t.Helper()
	dir, err := os.Open(system.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.Syncfs(int(dir.Fd())), dir.Close()); err != nil {
		t.Fatal(err)
	}
	testfuse.Await(t, "all requests to be answered", func() bool { return system.fuse.Waiting() == 0 })
}

// loop makes a file of the file system the disk of a loop device.
func loop(t *testing.T, dir string) {
	t.Helper()
	image := filepath.Join(dir, "image")
	if err := os.WriteFile(image, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--show", "-f", image).Output()
	if err != nil {
		t.Skipf("needs loop devices: %v", err)
	}
	t.Cleanup(func() { _ = exec.Command("losetup", "-d", strings.TrimSpace(string(out))).Run() })
}

// swapOn makes a file swap space, and says whether the file system lets it: tmpfs, overlay and FUSE do not (swapon(2) answers
// EINVAL).
func swapOn(t *testing.T, name string) bool {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = exec.Command("chattr", "+C", name).Run() // btrfs: no copy on write
	if err := os.WriteFile(name, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkswap", name).CombinedOutput(); err != nil {
		t.Fatalf("mkswap: %v %s", err, out)
	}
	path, err := unix.BytePtrFromString(name)
	if err != nil {
		t.Fatal(err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(path)), 0, 0)
	if errno != 0 && errno != unix.EINVAL {
		t.Fatalf("swapon: %v", errno)
	}
	if errno == 0 {
		t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(path)), 0, 0) })
	}
	return errno == 0
}
