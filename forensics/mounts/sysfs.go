package mounts

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// FUSEWaiting returns how many requests of a FUSE file system are in flight: not yet read by its server, or read and
// not yet answered. A constant number, while everything else changes, is the sign of a server that has stopped working; a
// busy one has requests in flight too. It is false where the control file system is not mounted, and for a file
// system that it does not list.
//
// The source is /sys/fs/fuse/connections/N/waiting (Documentation/filesystems/fuse.rst, Linux 2.6.16). Reading it never
// asks the server.
func FUSEWaiting(fsys nodefs.FS, device string) (int, bool) {
	connection := FUSEConnection(device)
	if connection == 0 {
		return 0, false
	}
	return readNumber(fsys, fmt.Sprintf("/sys/fs/fuse/connections/%d/waiting", connection))
}

// FUSEConnectionsWaiting returns the requests in flight of all FUSE connections of the machine, by number: also of file
// systems that are in no mount table. It is empty where the control file system is not mounted.
func FUSEConnectionsWaiting(fsys nodefs.FS) map[uint64]int {
	const most = 1 << 16
	waiting := map[uint64]int{}
	entries, _ := fsys.ReadDir("/sys/fs/fuse/connections", most)
	for _, entry := range entries {
		number, err := strconv.ParseUint(entry.Name, 10, 64)
		if n, ok := readNumber(fsys, "/sys/fs/fuse/connections/"+entry.Name+"/waiting"); err == nil && ok {
			waiting[number] = n
		}
	}
	return waiting
}

// ConnectionDevice is the superblock of a FUSE connection, as mountinfo shows it: the reverse of [FUSEConnection].
func ConnectionDevice(connection uint64) string {
	return fmt.Sprintf("%d:%d", connection>>20, connection&(1<<20-1))
}

// FUSEConnection is the number of a FUSE connection, which its directory below /sys/fs/fuse/connections is called by: the
// superblock's device as the kernel counts it (MKDEV of include/linux/kdev_t.h). For "0:46" that is 46, and for fuseblk
// far more than the minor number. It is 0 for what is no device.
func FUSEConnection(device string) uint64 {
	major, minor, ok := DeviceNumbers(device)
	if !ok {
		return 0
	}
	return uint64(major)<<20 | uint64(minor)
}

func readNumber(fsys nodefs.FS, name string) (int, bool) {
	text, err := fsys.ReadFile(name, 64)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	return n, err == nil
}

// DeviceNumbers takes "8:1" apart, a superblock as mountinfo shows it; false if it is none.
func DeviceNumbers(device string) (major, minor uint32, ok bool) {
	first, second, ok := strings.Cut(device, ":")
	if !ok {
		return 0, 0, false
	}
	a, errA := strconv.ParseUint(first, 10, 32)
	b, errB := strconv.ParseUint(second, 10, 32)
	return uint32(a), uint32(b), errA == nil && errB == nil
}
