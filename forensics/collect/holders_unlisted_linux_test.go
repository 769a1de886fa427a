package collect_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// given starts a process that has a descriptor as its number 3, and takes that away from this one.
func given(t *testing.T, fd int) int {
	t.Helper()
	holder := exec.Command("sleep", "1000")
	holder.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "given")}
	startUntilEnd(t, holder)
	_ = holder.ExtraFiles[0].Close()
	return holder.Process.Pid
}

// openOn mounts a tmpfs and opens a file on it whose name is full of what has to be escaped.
func openOn(t *testing.T) (dir, name string, fd int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	dir = t.TempDir()
	mountFor(t, "tmpfs", dir, "tmpfs", 0, "")
	name = filepath.Join(dir, "a b\tc\nd\\e: /f")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return dir, name, fd
}

func stillBusy(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Unmount(dir, 0); err != unix.EBUSY {
		t.Errorf("umount: %v, want that it is busy", err)
	}
}

// TestHeldByRing has a file open by nothing but an io_uring.
func TestHeldByRing(t *testing.T) {
	dir, name, file := openOn(t)
	var params [120]byte
	ring, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 8, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		t.Skipf("needs io_uring: %v", errno)
	}
	const registerFiles = 2
	files := [...]int32{-1, int32(file)}
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, ring, registerFiles, uintptr(unsafe.Pointer(&files)), 2, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	_ = unix.Close(file)
	pid := given(t, int(ring))
	e, err := collect.Holders(t.Context(), collect.Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	stillBusy(t, dir)
	if slices.Contains(e.MountUse.Unseen, fmt.Sprintf("process %d: 1 descriptor registered with its io_uring 3; the files are not visible", pid)) {
		return // this kernel tells the name alone
	}
	users := forensics.NewModel(&e).Uses().Of(collect.FindMounts(&e.Mounts, dir)[0])
	if len(users.Holders) != 1 {
		t.Fatalf("holders %+v, want one", users.Holders)
	}
	if h := users.Holders[0]; h.PID != pid || h.Kind != holders.HoldRing || h.FD != 3 || h.Path != name || !h.ByPath {
		t.Errorf("holder %+v, want the file %q of process %d", h, name, pid)
	}
}

// TestHeldInQueue has a file open by nothing but a descriptor that nobody has received yet.
func TestHeldInQueue(t *testing.T) {
	dir, _, file := openOn(t)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(file), nil, 0); err != nil {
		t.Fatal(err)
	}
	_, _ = unix.Close(file), unix.Close(pair[0])
	pid := given(t, pair[1])
	e, err := collect.Holders(t.Context(), collect.Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("process %d: 1 descriptor in the queue of its socket 3; the files are not visible", pid)
	if !slices.Contains(e.MountUse.Unseen, want) {
		t.Errorf("unseen %q, want %q", e.MountUse.Unseen, want)
	}
	stillBusy(t, dir)

	// Where something else explains that, the sockets are not asked: unless a second mount is busy without a reason.
	explained := t.TempDir()
	mountFor(t, "tmpfs", explained, "tmpfs", 0, "")
	cwd := exec.Command("sleep", "1000")
	cwd.Dir = explained
	startUntilEnd(t, cwd)
	for _, tt := range []struct {
		queries []string
		queried bool
	}{{[]string{explained}, false}, {[]string{explained, dir}, true}} {
		e, err := collect.Holders(t.Context(), collect.Options{}, tt.queries...)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(e.MountUse.Unseen, want) != tt.queried {
			t.Errorf("%q: unseen %q, want %q there: %v", tt.queries, e.MountUse.Unseen, want, tt.queried)
		}
	}
}

// TestHeldByEnding kills a process that has a file open, whose server does not answer: no descriptor is left to be seen.
func TestHeldByEnding(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: FUSE mounts and other users' stacks")
	}
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	holder := testfuse.Hold(t, testfuse.FD, filepath.Join(fuse.MountPoint(), "file"))
	fuse.Hang()
	t.Cleanup(fuse.Heal)
	if err := unix.Kill(holder.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testfuse.Await(t, "a thread to wait while it closes the file", func() bool {
		stacks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stack", holder.PID()))
		return slices.ContainsFunc(stacks, func(name string) bool {
			stack, _ := os.ReadFile(name)
			return strings.Contains(string(stack), "request_wait_answer") && strings.Contains(string(stack), "do_exit")
		})
	})
	e, err := collect.Holders(t.Context(), collect.Options{}, fuse.MountPoint())
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("process %d: thread ", holder.PID())
	if !slices.ContainsFunc(e.MountUse.Unseen, func(s string) bool {
		return strings.HasPrefix(s, want) && strings.HasSuffix(s, "waits in request_wait_answer while it closes a file; no descriptor table lists that file any more")
	}) {
		t.Errorf("unseen %q, want that process %d closes a file; holders %+v", e.MountUse.Unseen, holder.PID(), e.MountUse.Holders)
	}
}

// TestHeldByUnreadEvent has a program that is told of a file by fanotify, and does not read it.
func TestHeldByUnreadEvent(t *testing.T) {
	dir, name, file := openOn(t)
	_ = unix.Close(file)
	group, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC, unix.O_RDONLY)
	if err != nil {
		t.Skipf("fanotify: %v", err)
	}
	if err := unix.FanotifyMark(group, unix.FAN_MARK_ADD|unix.FAN_MARK_MOUNT, unix.FAN_OPEN, unix.AT_FDCWD, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	pid := given(t, group)
	users := usersOf(t, dir)
	want := fmt.Sprintf("process %d (sleep), descriptor 3; it does not block an unmount, but its unread events do", pid)
	if len(users.Kernel) != 1 || !strings.Contains(users.Kernel[0].Detail, want) {
		t.Errorf("users %+v, want %q", users.Kernel, want)
	}
	stillBusy(t, dir)
}
