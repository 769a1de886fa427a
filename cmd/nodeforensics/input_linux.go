package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	logslive "github.com/nodeforensics/nodeforensics/forensics/logs/live"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// inputPatience is how long a file of the command line may not answer.
const inputPatience = 10 * time.Second

// inputHead is one line of JSON from the reading child, before the contents.
type inputHead struct {
	Error string    `json:"error,omitempty"`
	Bytes int64     `json:"bytes"`
	Saved time.Time `json:"saved"`
	// Local says that the file is on a disk of this machine, or in memory, and has answered: the parent reads it itself.
	Local bool `json:"local,omitempty"`
	// Dir says that it is a directory, with these regular files; More, that there are more than are named.
	Dir   bool     `json:"dir,omitempty"`
	Names []string `json:"names,omitempty"`
	More  bool     `json:"more,omitempty"`
}

func (h *inputHead) ModTime() time.Time { return h.Saved }
func (h *inputHead) Size() int64        { return h.Bytes }

// localDisks are file systems that have no server (linux/magic.h); of any other, a child reads.
var localDisks = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC,
	unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.SQUASHFS_MAGIC, unix.ISOFS_SUPER_MAGIC, unix.MSDOS_SUPER_MAGIC,
}

// openNamed has a child open a file, which may be on a dead mount: the child then stays there while we go on.
func openNamed(name string) (read.Content, error) {
	name = absolute(name)
	c, err := startChild(readerArg)
	if err != nil { // no process is to be had
		return openDisk(name)
	}
	in := &distantFile{child: c, text: bufio.NewReaderSize(c.out, 64<<10)}
	if err := in.begin(name); err != nil {
		c.close()
		return nil, err
	}
	if in.Dir {
		c.close()
		return &directory{name, in.inputHead}, nil
	}
	if in.Local {
		c.close()
		return openDisk(name)
	}
	return in, nil
}

// directory has the names of the files in it.
type directory struct {
	name string
	inputHead
}

var errDirectory = errors.New("a directory, not a regular file")

func (*directory) Read([]byte) (int, error) { return 0, errDirectory }
func (*directory) Close() error             { return nil }

// Files are the regular files of the directory; those on a disk of this machine are opened without another process.
func (d *directory) Files() ([]read.File, error) {
	files := make([]read.File, 0, len(d.Names))
	for _, name := range d.Names {
		path := filepath.Join(d.name, name)
		open := openNamed
		if d.Local {
			open = openDisk
		}
		files = append(files, read.File{Name: path, Open: func() (read.Content, error) { return open(path) }})
	}
	if d.More {
		return files, fmt.Errorf("more than %d files: the rest is not read", maxDirectory)
	}
	return files, nil
}

// maxDirectory is how many files of a directory are read.
const maxDirectory = 100_000

// list names the regular files below a directory, and follows neither links nor mounts. A directory that cannot be read is
// left out, but for the first.
func (h *inputHead) list(name, below string, device uint64) error {
	dir, err := os.Open(filepath.Join(name, below))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for {
		entries, err := dir.ReadDir(1000) // of a directory of millions, some are read
		for _, d := range entries {
			path := filepath.Join(below, d.Name())
			var st unix.Stat_t
			switch {
			case len(h.Names) >= maxDirectory:
				h.More = true
				return nil
			case d.Type().IsRegular():
				h.Names = append(h.Names, path)
			case d.IsDir() && unix.Lstat(filepath.Join(name, path), &st) == nil && st.Dev == device:
				_ = h.list(name, path, device)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// diskFile is read by this process.
type diskFile struct {
	*os.File
	inputHead
}

func openDisk(name string) (read.Content, error) {
	fd, head, err := openHere(name)
	switch {
	case err != nil:
		return nil, err
	case head.Dir:
		return &directory{name, head}, nil
	}
	_ = unix.SetNonblock(fd, false) // or else os.File asks whether it can be polled
	file := &diskFile{os.NewFile(uintptr(fd), name), head}
	if head.Local {
		if j, ok := openJournal(file); ok {
			return j, nil
		}
	}
	return file, nil
}

// journalFile is a binary journal as journalctl shows it. Its size is not known.
type journalFile struct {
	io.ReadCloser
	saved time.Time
}

func (j *journalFile) Size() int64        { return 0 }
func (j *journalFile) ModTime() time.Time { return j.saved }

// openJournal has journalctl read a binary journal. It is false where the file is none, or the program cannot read it.
func openJournal(file *diskFile) (*journalFile, bool) {
	var head [8]byte
	if n, _ := file.ReadAt(head[:], 0); n < len(head) || string(head[:]) != "LPKSHHRH" {
		return nil, false
	}
	records, err := logslive.FindOptions{}.Journal(context.Background(), file.File) // it ends with its pipe
	if err != nil {
		return nil, false
	}
	_ = file.Close()
	return &journalFile{records, file.Saved}, true
}

// isLocalFile says whether a file is on a disk of this machine.
func isLocalFile(c read.Content) bool {
	f, ok := c.(*diskFile)
	return ok && f.Local
}

// distantFile is read by a child.
type distantFile struct {
	child *child
	text  *bufio.Reader
	end   error // how reading ended
	inputHead
}

func (f *distantFile) begin(name string) error {
	if _, err := f.child.in.Write([]byte(name)); err != nil {
		return err
	}
	_ = f.child.in.Close()
	_ = f.child.out.SetReadDeadline(time.Now().Add(inputPatience))
	line, err := f.text.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &f.inputHead)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return f.silent()
	case err != nil:
		return fmt.Errorf("the reading process ended: %w", f.child.fate(err))
	case f.Error != "":
		return errors.New(f.Error)
	}
	return nil
}

func (f *distantFile) silent() error {
	return fmt.Errorf("has not responded for %v: it may be on a dead mount; the reading process (pid %d) is left behind", inputPatience, f.child.process.Pid)
}

// Read implements [io.Reader].
func (f *distantFile) Read(p []byte) (int, error) {
	if f.end != nil {
		return 0, f.end
	}
	_ = f.child.out.SetReadDeadline(time.Now().Add(inputPatience))
	n, err := f.text.Read(p)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = f.silent()
	case errors.Is(err, io.EOF):
		if fate := f.child.fate(nil); fate != nil {
			err = fate
		}
	}
	f.end = err
	return n, err
}

func (f *distantFile) Close() error {
	f.child.close()
	return nil
}

// readerMain is the reading child: a name comes in, the contents go out.
func readerMain(in, out *os.File) int {
	takeName()
	stepAside()
	name, err := io.ReadAll(in)
	if of, ok := strings.CutPrefix(string(name), memoryPrefix); ok {
		pid, _ := strconv.Atoi(of)
		return sendMemory(pid, out)
	}
	var head inputHead
	fd := -1
	if err == nil {
		fd, head, err = openHere(string(name))
	}
	if err != nil {
		head.Error = err.Error()
	}
	if json.NewEncoder(out).Encode(head) != nil || err != nil {
		return exitFailed
	}
	if head.Local || head.Dir {
		return exitDone
	}
	if err := copyTo(out, fd); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	return exitDone
}

// copyTo does without os.File, which would wait for ever for more from a file such as /proc/kmsg.
func copyTo(out io.Writer, fd int) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || n == 0:
			return err
		}
		if _, err := out.Write(buf[:n]); err != nil {
			return err
		}
	}
}

// openHere opens a regular file in this process. Links are followed: the name is that of the person who runs this.
func openHere(name string) (fd int, head inputHead, err error) {
	at, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, head, err
	}
	defer func() { _ = unix.Close(at) }()
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return -1, head, err
	}
	if modeType(st.Mode) == fs.ModeDir {
		head.Dir = true
		head.Local = isLocal(at)
		err := head.list(name, "", st.Dev)
		slices.Sort(head.Names)
		return -1, head, err
	}
	if err := wantRegular(modeType(st.Mode)); err != nil {
		return -1, head, err
	}
	// By way of the descriptor, so that it cannot have been exchanged meanwhile.
	fd, err = unix.Open("/proc/self/fd/"+strconv.Itoa(at), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if errors.Is(err, unix.ENOENT) {
		err = errors.New("/proc is not mounted")
	}
	if err != nil {
		return -1, head, err
	}
	head = inputHead{Bytes: st.Size, Saved: time.Unix(st.Mtim.Unix()), Local: isLocal(fd)}
	return fd, head, nil
}

func isLocal(fd int) bool {
	var disk unix.Statfs_t
	err := unix.Fstatfs(fd, &disk)
	return err == nil && slices.Contains(localDisks, int64(disk.Type)) //nolint:unconvert // int32 on arm, uint32 on s390x
}

// modeType translates the type in st_mode.
func modeType(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFBLK, unix.S_IFCHR:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}
