package live

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
)

// parseNS returns the inode number in the text of a link to a namespace of some kind, 0 if that is not one.
func parseNS(link, kind string) uint64 {
	inode, ok := strings.CutPrefix(link, kind+":[")
	if !ok {
		return 0
	}
	ns, err := strconv.ParseUint(strings.TrimSuffix(inode, "]"), 10, 64)
	if err != nil {
		return 0
	}
	return ns
}

// isGone says that an error means no more than that a process or thread has ended: its directory is not there any more,
// or the kernel says ESRCH through one that is still open.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// parseID reads the name of a directory of a process or thread.
func parseID(name string) (int, bool) {
	if name == "" || name[0] < '1' || name[0] > '9' {
		return 0, false
	}
	id, err := strconv.ParseInt(name, 10, 32)
	return int(id), err == nil
}

func taskDir(tid int) string { return "task/" + strconv.Itoa(tid) + "/" }
