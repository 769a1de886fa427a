package procfd

import (
	"bytes"
	"strconv"
)

// ParseMapping reads a line of /proc/PID/maps, proc_pid_maps(5), and is false for what is no file:
//
//	00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon
//
// The upper half of device is the major number, the lower one the minor. path is a part of line, in which a newline is
// spelled "\012".
func ParseMapping(line []byte) (device uint64, path []byte, ok bool) {
	rest := line
	for range 3 { // addresses, permissions, offset
		at := bytes.IndexByte(rest, ' ')
		if at < 0 {
			return 0, nil, false
		}
		rest = rest[at+1:]
	}
	dev, rest, _ := bytes.Cut(rest, []byte{' '})
	inode, rest, _ := bytes.Cut(rest, []byte{' '})
	path = bytes.TrimLeft(rest, " ")
	if string(inode) == "0" || len(path) == 0 || path[0] != '/' {
		return 0, nil, false
	}
	major, minor, found := bytes.Cut(dev, []byte{':'})
	a, err1 := strconv.ParseUint(string(major), 16, 32)
	b, err2 := strconv.ParseUint(string(minor), 16, 32)
	return a<<32 | b, path, found && err1 == nil && err2 == nil
}
