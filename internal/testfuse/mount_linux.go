package testfuse

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Options say what is mounted. The zero value is an empty directory of source "testfuse" and type "fuse", open to
// every user.
type Options struct {
	// Source and Type are shown in mountinfo, for example "10.0.0.5:6789:/k8s" and "fuse.ceph-fuse". The type has to be
	// "fuse" or to begin with "fuse.".
	Source, Type string

	// Files maps relative paths to contents. Directories are implied; a path that ends in "/" is an empty one. Files
	// can be written and more can be made through the mount; all of it is kept in the server's memory.
	Files map[string]string

	// Links maps relative paths to what the symbolic links there say.
	Links map[string]string

	// NoAllowOther leaves out allow_other. For anybody but the mounting user, root included where that is someone
	// else, the kernel then answers statfs itself and refuses everything else.
	NoAllowOther bool

	// UserID is the user_id mount option, the user that mounted as far as the kernel is concerned. Default 0.
	UserID uint32

	// Locks lets programs lock files with flock(2) and fcntl(2) through the server, as a file system does of which other
	// machines have the same files. Who waits for a lock waits for the server's answer.
	Locks bool

	// Below is a path of which the server has a descriptor and asks the attributes before each answer, as one does that
	// encrypts or merges other file systems. It waits where that waits, also for orders of the test, and passes on its errors.
	Below string

	// SizeBytes and FreeBytes are what statfs says. They default to 4 GiB and to half of the size.
	SizeBytes, FreeBytes uint64
}

// Server is one mount and the process that serves it. Its methods fail the test if they cannot do what they say, so
// they are to be called from the test's goroutine.
type Server struct {
	t     testing.TB
	child *child
	dir   string
	minor int
}

// Mount serves a file system on dir, which it makes if it is missing, and returns once it is mounted. Without root,
// /dev/fuse or the permission to mount it skips the test with a reason.
func Mount(t testing.TB, dir string, opt Options) *Server {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("testfuse: mounting FUSE needs root")
	}
	if fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		t.Skipf("testfuse: /dev/fuse: %v", err)
	} else {
		_ = unix.Close(fd)
	}
	dir, err := mountPoint(dir)
	if err != nil {
		t.Fatalf("testfuse: %v", err)
	}
	// When the test process dies, a stopped server is continued, so that it can notice and clean up.
	s := &Server{t: t, dir: dir, child: startChild(t, roleServe, syscall.SIGCONT)}
	t.Cleanup(s.close)
	s.minor = s.mount(opt.withDefaults())
	return s
}

// mount has the server mount itself and returns the minor number of the superblock.
func (s *Server) mount(opt Options) int {
	s.t.Helper()
	var mounted mountReply
	if err := s.ask(mountRequest{Dir: s.dir, Options: opt, Starter: s.child.starter}, &mounted); err != nil {
		s.t.Fatalf("testfuse: %v", err)
	}
	switch {
	case mounted.Errno == unix.EPERM || mounted.Errno == unix.EACCES:
		s.t.Skipf("testfuse: mounting FUSE: %v", mounted.Errno)
	case mounted.Errno != 0:
		s.t.Fatalf("testfuse: mount %s: %v", s.dir, mounted.Errno)
	case mounted.Error != "":
		s.t.Fatalf("testfuse: %s", mounted.Error)
	}
	return mounted.Minor
}

func (o Options) withDefaults() Options {
	if o.Source == "" {
		o.Source = "testfuse"
	}
	if o.Type == "" {
		o.Type = "fuse"
	}
	if o.SizeBytes == 0 {
		o.SizeBytes = 4 << 30
	}
	if o.FreeBytes == 0 {
		o.FreeBytes = o.SizeBytes / 2
	}
	return o
}

// mountPoint makes dir if needed and returns it as mountinfo will show it: absolute and without symbolic links.
func mountPoint(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// MountPoint returns the directory without symbolic links, as mountinfo shows it.
func (s *Server) MountPoint() string { return s.dir }

// Device returns the superblock's number as mountinfo shows it, for example "0:46".
func (s *Server) Device() string { return fmt.Sprintf("0:%d", s.minor) }

// Minor returns the second part of Device, which is also the connection's name below /sys/fs/fuse/connections.
func (s *Server) Minor() int { return s.minor }

// PID returns the process that serves, also after it has been killed.
func (s *Server) PID() int { return s.child.cmd.Process.Pid }

// close ends the mount, and never waits for a file system. The server is killed even if it is stopped; with it goes
// the only open descriptor of the connection, and the kernel aborts that.
func (s *Server) close() {
	if !s.child.end(10 * time.Second) {
		s.t.Errorf("testfuse: server %d of %s outlived SIGKILL", s.PID(), s.dir)
	}
	if !detach(s.dir, time.Second) {
		s.t.Logf("testfuse: unmounting %s waits for another mount on the way to it", s.dir)
	}
}

// detach unmounts dir lazily and reports whether that was over within the limit. The way to dir may lead through
// another file system that hangs, and then the call is left behind; detaching that one detaches this one too.
func detach(dir string, limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) // EINVAL: never mounted, or unmounted by the test
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
