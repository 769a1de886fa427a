package live

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childEnv makes the test binary do a job instead of testing.
const childEnv = "PROCS_TEST_JOB"

// A job is a system call, and what a process does before it. Everything but the call is done while the file system
// still answers.
type job struct {
	CPU       int    // the only CPU that the thread may run on, -1 for all
	Namespace string // "process" or "thread": a mount namespace of its own, where From is mounted at To
	From, To  string
	Network   bool   // a network namespace of its own
	Bind      string // a socket is bound to that name
	OwnDir    bool   // the thread has directories of its own (CLONE_FS)
	OwnFiles  bool   // the thread has descriptors of its own (CLONE_FILES)
	Chroot    string
	Dir       string // working directory
	Open      string // opened first: the descriptor of the call
	Call      string // see call
	Path      string
	Threads   int
	Second    bool // a thread does the job that is not the first of the process
	EndFirst  bool // the first thread of the process ends meanwhile
}

// init keeps a child's first thread for childMain.
func init() {
	if _, ok := os.LookupEnv(childEnv); ok {
		runtime.LockOSThread()
	}
}

// A child is a process that does a job. Its thread tid has done the preparation and makes the call once it is told to.
type child struct {
	cmd *exec.Cmd
	tid int
	in  *os.File
	out *bufio.Reader
}

// start starts a child, which ends with the test. It may still be stuck then, and goes with the mount.
func start(t testing.TB, j job) *child {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(exe, "-test.run=^$"), in: in, out: bufio.NewReader(out)}
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr, c.cmd.Dir = stdin, stdout, os.Stderr, "/"
	if j.Namespace == "process" {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = stdin.Close(), stdout.Close()
	go func() { _ = c.cmd.Wait() }()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_, _ = in.Close(), out.Close()
	})
	if _, err := fmt.Fscanln(c.out, &c.tid); err != nil {
		t.Fatalf("child %+v: %v", j, err)
	}
	return c
}

// call tells the child to make its call.
func (c *child) call(t testing.TB) {
	t.Helper()
	if _, err := c.in.Write([]byte{'\n'}); err != nil {
		t.Fatal(err)
	}
}

// said waits until the child says something.
func (c *child) said(t testing.TB, want string) {
	t.Helper()
	if line, err := c.out.ReadString('\n'); err != nil || line != want+"\n" {
		t.Fatalf("child said %q, %v; want %q", line, err, want)
	}
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// childMain does the job of a child and never returns from it.
func childMain() {
	text, ok := os.LookupEnv(childEnv)
	if !ok {
		return
	}
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		runtime.LockOSThread()
		if j.Second {
			done := make(chan error)
			go func() {
				runtime.LockOSThread()
				done <- j.run()
			}()
			if j.EndFirst {
				_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0) // of this thread only
			}
			err = <-done
		} else {
			err = j.run()
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "child: %+v: %v\n", j, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (j job) run() error {
	if err := j.prepare(); err != nil {
		return err
	}
	fd := unix.AT_FDCWD
	if j.Open != "" {
		var err error
		if fd, err = unix.Open(j.Open, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("open %s: %w", j.Open, err)
		}
	}
	fmt.Println(unix.Gettid())
	if _, err := unix.Read(0, make([]byte, 1)); err != nil {
		return err
	}
	return j.call(fd)
}

func (j job) prepare() error {
	var errs []error
	try := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	if j.CPU >= 0 {
		var set unix.CPUSet
		set.Set(j.CPU)
		try("affinity", unix.SchedSetaffinity(0, &set))
	}
	if j.OwnDir {
		try("unshare", unix.Unshare(unix.CLONE_FS))
	}
	if j.OwnFiles {
		try("unshare", unix.Unshare(unix.CLONE_FILES))
	}
	if j.Namespace == "thread" {
		try("unshare", unix.Unshare(unix.CLONE_NEWNS))
	}
	if j.Namespace != "" {
		try("private", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		try("bind", unix.Mount(j.From, j.To, "", unix.MS_BIND, ""))
	}
	if j.Network {
		try("network", unix.Unshare(unix.CLONE_NEWNET))
	}
	if j.Chroot != "" {
		try("chroot", unix.Chroot(j.Chroot))
	}
	if j.Dir != "" {
		try("chdir", unix.Chdir(j.Dir))
	}
	if j.Bind != "" {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		try("socket", err)
		try("bind", unix.Bind(fd, &unix.SockaddrUnix{Name: j.Bind}))
	}
	return errors.Join(errs...)
}

func (j job) call(fd int) error {
	var st unix.Stat_t
	switch j.Call {
	case "stat":
		return unix.Stat(j.Path, &st)
	case "fstatat":
		return unix.Fstatat(fd, j.Path, &st, 0)
	case "across pages":
		return statAt(j.Path, func(page int) int { return page - 3 }, &st)
	case "end of page":
		return statAt(j.Path, func(page int) int { return 2*page - len(j.Path) - 1 }, &st)
	case "forgotten":
		return statForgotten(j.Path, &st)
	case "locked":
		return mapLocked(j.Path)
	case "getdents":
		_, err := unix.Getdents(fd, make([]byte, 4096))
		return err
	case "mkdir":
		return unix.Mkdir(j.Path, 0o755)
	case "threads":
		return j.manyThreads()
	}
	return unix.Pause()
}

// statAt calls stat with a path at an offset into two pages; behind them is memory that cannot be read.
func statAt(path string, offset func(page int) int, st *unix.Stat_t) error {
	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	if err := unix.Mprotect(mem[2*page:], unix.PROT_NONE); err != nil {
		return err
	}
	at, cwd := offset(page), unix.AT_FDCWD
	copy(mem[at:], path)
	_, _, errno := unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(cwd), uintptr(unsafe.Pointer(&mem[at])),
		uintptr(unsafe.Pointer(st)), 0, 0, 0)
	runtime.KeepAlive(mem)
	if errno != 0 {
		return errno
	}
	return nil
}

// statForgotten calls stat with a path that stands in a file, mapped into memory. When the kernel has read it and waits,
// another thread drops the page: whoever reads the path now has to wait for the file system, too.
func statForgotten(path string, st *unix.Stat_t) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	mem, err := unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	if string(mem[:len(path)]) != path { // now the page is there
		return fmt.Errorf("file says %q", mem[:len(path)])
	}
	wchan := fmt.Sprintf("/proc/self/task/%d/wchan", unix.Gettid())
	fmt.Println("mapped")
	if _, err := unix.Read(0, make([]byte, 1)); err != nil {
		return err
	}
	go func() {
		for text := ""; text != "request_wait_answer"; {
			bytes, _ := os.ReadFile(wchan)
			text = string(bytes)
		}
		fmt.Println("forgotten", forget(fd, mem))
	}()
	cwd := unix.AT_FDCWD
	_, _, errno := unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(cwd), uintptr(unsafe.Pointer(&mem[0])),
		uintptr(unsafe.Pointer(st)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// forget drops the page of a file from memory. A page that a processor has only just touched may stay at first.
func forget(fd int, mem []byte) error {
	var there [1]byte
	for range 500 {
		if err := errors.Join(unix.Madvise(mem, unix.MADV_DONTNEED), unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED)); err != nil {
			return err
		}
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&there[0])))
		if errno != 0 {
			return errno
		}
		if there[0]&1 == 0 {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("the page stays in memory")
}

// mapLocked waits for the page of a file with the lock of its memory: to map a file that was opened directly takes its pages out of memory,
// and that waits for a thread that is about to read one.
func mapLocked(path string) error {
	cached, err := unix.Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	page, err := unix.Mmap(cached, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	direct, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECT, 0)
	fmt.Println("mapped", err)
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	go func() { fmt.Fprint(io.Discard, page[0]) }()
	time.Sleep(200 * time.Millisecond)
	fmt.Println("locking")
	_, err = unix.Mmap(direct, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE)
	return err
}

// manyThreads blocks that many threads outside of any file system.
func (j job) manyThreads() error {
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		return err
	}
	ready := make(chan struct{})
	for range j.Threads {
		go func() {
			runtime.LockOSThread()
			ready <- struct{}{}
			_, _ = unix.Read(fds[0], make([]byte, 1))
		}()
		<-ready
	}
	fmt.Println("ready")
	return unix.Pause()
}
