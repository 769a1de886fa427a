package hostfs

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// kmsg is the device number of /dev/kmsg (Documentation/admin-guide/devices.txt).
var kmsg = unix.Mkdev(1, 11)

// maxKernelRecord is more than the kernel puts into one record (CONSOLE_EXT_LOG_MAX, include/linux/printk.h).
const maxKernelRecord = 8192

// A KernelLog reads the kernel's ring of messages from where it begins to where it ends now.
type KernelLog struct {
	fd   *handle // nil if all of it is in rest
	rest []byte
	buf  [maxKernelRecord]byte
}

// OpenKernelLog opens /dev/kmsg of this live machine, the one device that is ever opened here: the kernel answers it
// from memory, and with O_NONBLOCK it does not wait for messages to come. In a container that may not open devices, syslog(2) has the
// same messages, as dmesg(1) prints them with --raw.
func (f *FS) OpenKernelLog() (*KernelLog, error) {
	const path = "/dev/kmsg"
	if !f.Live() {
		return nil, pathError("open", path, nodefs.ErrNotRegular)
	}
	fd, _, err := f.lookup("open", path, true)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	st, err := fstat(fd)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != kmsg) {
		err = nodefs.ErrNotRegular
	}
	var file int
	if err == nil {
		file, err = reopen(fd, readFlags)
	}
	if errors.Is(err, unix.EPERM) {
		if text := ring(); len(text) > 0 {
			return &KernelLog{rest: text}, nil
		}
	}
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return &KernelLog{fd: newHandle(file)}, nil
}

// ring asks syslog(2) for the messages, which takes none of them away. It is empty if they are refused.
func ring() []byte {
	size, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil)
	if err != nil || size <= 0 {
		return nil
	}
	text := make([]byte, min(size, 4<<20)) // the newest, if there are more
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, text)
	if err != nil || n < 0 {
		return nil
	}
	return text[:n]
}

// Read implements [io.Reader]. Records are lines; the properties that the kernel adds in further lines are left out.
func (k *KernelLog) Read(p []byte) (int, error) {
	for len(k.rest) == 0 {
		if k.fd == nil {
			return 0, io.EOF
		}
		fd, err := k.fd.use()
		if err != nil {
			return 0, pathError("read", "/dev/kmsg", err)
		}
		n, err := again(func() (int, error) { return unix.Read(fd, k.buf[:]) })
		k.fd.done()
		switch {
		case errors.Is(err, unix.EPIPE): // overwritten before it was read: the next one is the oldest
			continue
		case errors.Is(err, unix.EAGAIN), err == nil && n <= 0:
			return 0, io.EOF
		case err != nil:
			return 0, pathError("read", "/dev/kmsg", err)
		}
		k.rest = firstLine(k.buf[:n])
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

func firstLine(record []byte) []byte {
	for i, c := range record {
		if c == '\n' {
			return record[:i+1]
		}
	}
	return record
}

// Close implements [io.Closer].
func (k *KernelLog) Close() error {
	if k.fd == nil {
		return nil
	}
	return pathError("close", "/dev/kmsg", k.fd.close())
}
