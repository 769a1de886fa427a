package mounts

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

func TestStatusOf(t *testing.T) {
	for status, errnos := range map[Status][]unix.Errno{
		StatusStale:        {unix.ESTALE},
		StatusDisconnected: {unix.ENOTCONN, unix.ECONNABORTED, unix.ESHUTDOWN, unix.ENODEV, unix.EHOSTDOWN},
		StatusIOError:      {unix.EIO, unix.EREMOTEIO, unix.ETIMEDOUT, unix.EUCLEAN, unix.ENXIO, unix.ENOSYS, unix.EINVAL},
		StatusDenied:       {unix.EACCES, unix.EPERM},
		StatusNotProbed:    {unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENAMETOOLONG, unix.EMFILE, unix.ENFILE, unix.ENOMEM},
	} {
		for _, errno := range errnos {
			if got := statusOf(fmt.Errorf("wrapped: %w", errno)); got != status {
				t.Errorf("%v: %q; want %q", errno, got, status)
			}
		}
	}
	if got := statusOf(errors.New("panic in the probe")); got != StatusNotProbed {
		t.Errorf("no errno: %q; want not probed", got)
	}
}
