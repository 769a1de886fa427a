package live

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
)

// TestMarks watches a mount: that is told, holds nothing, and does not keep umount from working.
func TestMarks(t *testing.T) {
	for kind, watch := range map[string]func(dir string) (int, error){
		"inotify": func(dir string) (int, error) {
			fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
			if err == nil {
				_, err = unix.InotifyAddWatch(fd, dir, unix.IN_CREATE)
			}
			return fd, err
		},
		"fanotify": func(dir string) (int, error) {
			fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC, unix.O_RDONLY)
			if err == nil {
				err = unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN, unix.AT_FDCWD, dir)
			}
			return fd, err
		},
		"fanotify of a mount": func(dir string) (int, error) {
			fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_CLOEXEC, unix.O_RDONLY)
			if err == nil {
				err = unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_MOUNT, unix.FAN_OPEN, unix.AT_FDCWD, dir)
			}
			return fd, err
		},
	} {
		t.Run(kind, func(t *testing.T) {
			fsys, opt := machine(t)
			dir, m := tmpfs(t)
			fd, err := watch(dir)
			if err != nil {
				t.Skipf("%s: %v", kind, err)
			}
			defer func() { _ = unix.Close(fd) }()
			result, err := Holders(t.Context(), fsys, HoldersOptions{Group: opt.Group, Keep: func(h *holders.Holder) bool { return h.Device == m.Device }})
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Holders) > 0 {
				t.Errorf("holders %+v", result.Holders)
			}
			if !slices.ContainsFunc(result.Marks, func(mark holders.Mark) bool {
				return mark.PID == os.Getpid() && mark.FD == fd && mark.Count == 1 && (mark.Device == m.Device || mark.MountID == m.ID)
			}) {
				t.Errorf("marks %+v, want one on %s", result.Marks, m.Device)
			}
			if err := unix.Unmount(dir, 0); err != nil {
				t.Errorf("umount: %v", err)
			}
		})
	}
}
