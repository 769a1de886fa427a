package procnet

import (
	"bytes"
	"strconv"
)

// A BoundSocket is a unix socket with a name in a file system. The mount that the name was found on is in use as long as the
// socket is, and so it is by the connections that the socket accepts, which are listed with the same name.
type BoundSocket struct {
	Inode uint64 // as in the link of a descriptor, "socket:[12345]"
	// Name is what bind(2) was given: a path in the mount namespace and below the root of who called it.
	Name string
}

// BoundSockets lists the bound sockets of a network namespace out of its /proc/PID/net/unix, unix(7). Relative and abstract
// names are left out.
//
// The kernel prints a name as it is, with its newlines, so that a process can put lines of its own into the file. Only those count
// that have all columns in their width (unix_seq_show in net/unix/af_unix.c): what is left of the 108 bytes of a name is then too
// little for a path in the directory of a pod.
func BoundSockets(text []byte) []BoundSocket {
	var list []BoundSocket
	widths := [...]int{0, 8, 8, 8, 4, 2} // of Num, RefCount, Protocol, Flags, Type, St; that of Num is the machine's
	for line := range bytes.Lines(text) {
		if widths[0] == 0 && !bytes.HasPrefix(line, []byte("Num ")) {
			widths[0] = bytes.IndexByte(line, ' ') // the first one is the kernel's own
		}
		before, name, ok := bytes.Cut(line, []byte(" /")) // the last column; no other has a slash
		if !ok {
			continue
		}
		columns := bytes.Fields(before)
		if len(columns) != len(widths)+1 || !areWide(columns, widths[:]) {
			continue
		}
		inode, err := strconv.ParseUint(string(columns[6]), 10, 64)
		if err == nil {
			list = append(list, BoundSocket{Inode: inode, Name: "/" + string(bytes.TrimSuffix(name, []byte{'\n'}))})
		}
	}
	return list
}

// areWide says whether columns begin with some of these widths.
func areWide(columns [][]byte, widths []int) bool {
	for i, width := range widths {
		if len(columns[i]) != width {
			return false
		}
	}
	return true
}
