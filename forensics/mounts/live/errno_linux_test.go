package live

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

func TestStatusOf(t *testing.T) {
	for status, errnos := range map[mounts.Status][]unix.Errno{
		mounts.StatusStale:        {unix.ESTALE},
		mounts.StatusDisconnected: {unix.ENOTCONN, unix.ECONNABORTED, unix.ESHUTDOWN, unix.ENODEV, unix.EHOSTDOWN},
		mounts.StatusIOError:      {unix.EIO, unix.EREMOTEIO, unix.ETIMEDOUT, unix.EUCLEAN, unix.ENXIO, unix.ENOSYS, unix.EINVAL},
		mounts.StatusDenied:       {unix.EACCES, unix.EPERM},
		mounts.StatusNotProbed:    {unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENAMETOOLONG, unix.EMFILE, unix.ENFILE, unix.ENOMEM},
	} {
		for _, errno := range errnos {
			if got := statusOf(fmt.Errorf("wrapped: %w", errno)); got != status {
				t.Errorf("%v: %q; want %q", errno, got, status)
			}
		}
	}
	if got := statusOf(errors.New("panic in the probe")); got != mounts.StatusNotProbed {
		t.Errorf("no errno: %q; want not probed", got)
	}
}
