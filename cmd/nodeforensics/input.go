package main

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/read"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// inputs are files of the command line.
func (a *app) inputs(names []string) []read.File {
	files := make([]read.File, 0, len(names))
	for _, name := range names {
		open := openInput
		files = append(files, read.File{Name: name, Stream: isStream(name), Open: func() (read.Content, error) {
			a.working("reading %s", name)
			in, err := open(name)
			if isLocalFile(in) { // it needs no other process the next time
				open = openDisk
			}
			return in, err
		}})
	}
	return files
}

// stream is an open file of the caller: standard input, or what the shell made of <(command).
type stream struct{ *os.File }

func (stream) ModTime() time.Time { return time.Time{} }
func (stream) Size() int64        { return 0 }
func (stream) Close() error       { return nil } // it is the caller's

// ownDescriptor is a path that means an open file of this very process.
var ownDescriptor = pattern.New(`^/(?:dev/fd|proc/self/fd)/([0-9]{1,9})$`)

// openStream returns what the caller has opened for us: "-", or a path that means a descriptor. Such a pipe may be read,
// once; one by any other name may be somebody's trap.
func openStream(name string) (stream, bool) {
	if name == "-" || name == "/dev/stdin" {
		return stream{os.Stdin}, true
	}
	m := ownDescriptor.FindStringSubmatch(name)
	if m == nil {
		return stream{}, false
	}
	fd, _ := strconv.Atoi(m[1])
	return stream{os.NewFile(uintptr(fd), name)}, true
}

// isStream says whether a name can be read only once.
func isStream(name string) bool {
	return name == "-" || name == "/dev/stdin" || ownDescriptor.MatchString(name)
}

// openInput opens a file of the command line or standard input. Anything but a regular file is refused, unopened: a FIFO
// would be waited for, and a device may do things when it is opened. The reason of an error comes without the name.
func openInput(name string) (read.Content, error) {
	if in, ok := openStream(name); ok {
		return in, nil
	}
	return openNamed(name)
}

// wantRegular says what something is that cannot be read.
func wantRegular(mode fs.FileMode) error {
	what := "not a regular file"
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "is a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "is a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "is a socket"
	case mode&fs.ModeDevice != 0:
		what = "is a device"
	}
	return fmt.Errorf("%s: only regular files and standard input are read", what)
}

// isRegularFile says whether there is a regular file of that name, which is on a disk of this machine.
func isRegularFile(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}
