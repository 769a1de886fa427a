package testfuse

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// statMain is the process of HoldStat. Its exit status is the errno.
func statMain() int {
	runtime.LockOSThread()
	var req holdRequest
	if gob.NewDecoder(os.Stdin).Decode(&req) != nil {
		return int(unix.EPROTO)
	}
	if gob.NewEncoder(os.Stdout).Encode(holdReply{TID: unix.Gettid()}) != nil {
		return int(unix.EPROTO)
	}
	var st unix.Stat_t
	var errno syscall.Errno
	errors.As(unix.Stat(req.Path, &st), &errno)
	return int(errno)
}

// holdMain is the process of Hold. It ends when the test process does.
func holdMain() int {
	runtime.LockOSThread()
	var req holdRequest
	if gob.NewDecoder(os.Stdin).Decode(&req) != nil {
		return 1
	}
	err := hold(req)
	return announceAndStay(err)
}

// resumeMain is the second life of a holder of kind Exe, in its new executable.
func resumeMain() int {
	runtime.LockOSThread()
	return announceAndStay(nil)
}

func announceAndStay(err error) int {
	reply := holdReply{TID: unix.Gettid()}
	if err != nil {
		reply.Error = err.Error()
	}
	if gob.NewEncoder(os.Stdout).Encode(reply) != nil || err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func hold(req holdRequest) error {
	switch req.Kind {
	case Cwd:
		return unix.Chdir(req.Path)
	case Root:
		return unix.Chroot(req.Path)
	case FD:
		_, err := openOrMake(req.Path)
		return err
	case Mmap:
		return mapFile(req.Path)
	case Socket:
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrUnix{Name: req.Path})
	case Exe:
		return become(req.Path)
	}
	return fmt.Errorf("no such kind: %q", req.Kind)
}

// openOrMake returns a descriptor for reading, or for writing if it had to make the file.
func openOrMake(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		fd, err = unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	}
	return fd, err
}

// mapFile maps the first page of a file, which may be empty, and closes the descriptor.
func mapFile(path string) error {
	fd, err := openOrMake(path)
	if err != nil {
		return err
	}
	if _, err := unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE); err != nil {
		return err
	}
	return unix.Close(fd)
}

// become copies the own executable to path and goes on as that. Nobody else here forks meanwhile, so no other
// process can have got the descriptor that is being written, which would make the exec fail with ETXTBSY.
func become(path string) error {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o755)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for len(self) > 0 {
		n, err := unix.Write(fd, self)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		self = self[n:]
	}
	if err := unix.Close(fd); err != nil {
		return err
	}
	if err := os.Setenv(roleEnv, roleResume); err != nil {
		return err
	}
	return unix.Exec(path, os.Args, os.Environ())
}
