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
			p := mounts.Probe{Call: callStatx, Errno: errnoName(fmt.Errorf("wrapped: %w", errno)), Error: errno.Error()}
			if got := p.Judge(mounts.Mount{}, longWait, longWait).Status; got != status {
				t.Errorf("%v: %q; want %q", errno, got, status)
			}
		}
	}
	p := mounts.Probe{Call: callStatx, Errno: errnoName(errors.New("panic in the probe")), Error: "panic in the probe"}
	if got := p.Judge(mounts.Mount{}, longWait, longWait).Status; got != mounts.StatusNotProbed {
		t.Errorf("no errno: %q; want not probed", got)
	}
}
