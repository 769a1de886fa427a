package testfuse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// state returns the letter of the process's first thread in /proc, or 0.
func state(pid int) byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(text, []byte(") "))
	return after[0]
}

func TestHangBlocksAndHealReleases(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	s.Hang()
	p := testfuse.HoldStat(t, s.MountPoint())
	testfuse.Await(t, "the stat to block", p.Blocked)
	if wchan := p.Wchan(); wchan != "request_wait_answer" && wchan != "fuse_request_wait_answer" {
		t.Errorf("wchan = %q", wchan)
	}
	if n := s.Waiting(); n < 1 {
		t.Errorf("Waiting() = %d, want 1 or more", n)
	}
	testfuse.Await(t, "the server to have the request", func() bool { return s.Unanswered() == 1 })
	s.Heal()
	if n := s.Unanswered(); n != 0 {
		t.Errorf("Unanswered() = %d after Heal, want 0", n)
	}
	testfuse.Await(t, "the stat to return", func() bool { return isDone(p) })
	if errno := p.Errno(); errno != 0 {
		t.Errorf("stat: %v", errno)
	}
}

// TestHungMountCanBeLeft is about the cleanup: without it, the removal of the directory would block.
func TestHungMountCanBeLeft(t *testing.T) {
	var dir string
	var stuck *testfuse.Process
	t.Run("hung", func(t *testing.T) {
		s := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
		dir = s.MountPoint()
		s.Hang()
		stuck = testfuse.HoldStat(t, dir)
		testfuse.Await(t, "the stat to block", stuck.Blocked)
	})
	if dir == "" {
		t.Skip("testfuse: nothing could be mounted")
	}
	if lines := mountLines(t, dir); len(lines) != 0 {
		t.Errorf("still mounted: %q", lines)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("directory: %v, want it to be gone", err)
	}
	testfuse.Await(t, "the stuck process to go", func() bool { return isDone(stuck) })
}

func TestNestedHungMountsCanBeLeft(t *testing.T) {
	outer := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"inner/": ""}})
	inner := testfuse.Mount(t, filepath.Join(outer.MountPoint(), "inner"), testfuse.Options{})
	inner.Hang()
	outer.Hang()
	stuck := testfuse.HoldStat(t, inner.MountPoint())
	testfuse.Await(t, "the stat to block", stuck.Blocked)
}

func TestKilledWaiterPassesIntoUninterruptibleSleep(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	s.Hang()
	p := testfuse.HoldStat(t, s.MountPoint())
	testfuse.Await(t, "the server to have the request", func() bool { return p.Blocked() && s.Unanswered() == 1 })
	p.Kill()
	threadState := func() byte {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", p.PID(), p.TID()))
		if err != nil {
			return 0
		}
		_, after, _ := bytes.Cut(text, []byte(") "))
		return after[0]
	}
	testfuse.Await(t, "state D", func() bool { return threadState() == 'D' })
	s.Abort()
	testfuse.Await(t, "the killed process to go", func() bool { return isDone(p) })
	if errno := p.Errno(); errno != unix.ECANCELED {
		t.Errorf("Errno() of a killed process = %v, want ECANCELED", errno)
	}
}

// A request that the server has not read yet can still be withdrawn.
func TestWaiterForAStoppedServerCanBeKilled(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	s.Stop()
	p := testfuse.HoldStat(t, s.MountPoint())
	testfuse.Await(t, "the stat to block", p.Blocked)
	p.Kill()
	testfuse.Await(t, "the killed process to go", func() bool { return isDone(p) })
}

func TestKillDisconnects(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	s.Hang()
	p := testfuse.HoldStat(t, s.MountPoint())
	testfuse.Await(t, "the stat to block", p.Blocked)
	s.Kill()
	testfuse.Await(t, "the stat to return", func() bool { return isDone(p) })
	if errno := p.Errno(); errno != unix.ECONNABORTED {
		t.Errorf("stat under way: %v, want ECONNABORTED", errno)
	}
	if errno := statResult(t, s.MountPoint()); errno != unix.ENOTCONN {
		t.Errorf("stat afterwards: %v, want ENOTCONN", errno)
	}
	if lines := mountLines(t, s.MountPoint()); len(lines) != 1 {
		t.Errorf("mountinfo has %q, want the mount to stay", lines)
	}
	if st := state(s.PID()); st != 0 {
		t.Errorf("the server is in state %c, want it to be gone", st)
	}
}

func TestAbortDisconnectsAndLeavesTheServer(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	s.Hang()
	p := testfuse.HoldStat(t, s.MountPoint())
	testfuse.Await(t, "the stat to block", p.Blocked)
	s.Abort()
	testfuse.Await(t, "the stat to return", func() bool { return isDone(p) })
	if errno := statResult(t, s.MountPoint()); errno != unix.ENOTCONN {
		t.Errorf("stat afterwards: %v, want ENOTCONN", errno)
	}
	s.Heal() // the process is still there and listens
}

func TestStopBlocksAndContReleases(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	for range 2 {
		s.Stop()
		if st := state(s.PID()); st != 'T' {
			t.Fatalf("the stopped server is in state %c, want T", st)
		}
		p := testfuse.HoldStat(t, s.MountPoint())
		testfuse.Await(t, "the stat to block", p.Blocked)
		s.Cont()
		testfuse.Await(t, "the stat to return", func() bool { return isDone(p) })
		if errno := p.Errno(); errno != 0 {
			t.Errorf("stat: %v", errno)
		}
	}
	s.Stop() // and left so, for the cleanup
}

func TestTroubleAppliesToWhatWaits(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	s.Hang()
	p := testfuse.HoldStat(t, s.MountPoint())
	testfuse.Await(t, "the stat to block", p.Blocked)
	testfuse.Await(t, "the server to have the request", func() bool { return s.Unanswered() == 1 })
	s.Delay(time.Hour)
	s.Fail(unix.ESTALE)
	testfuse.Await(t, "the stat to return", func() bool { return isDone(p) })
	if errno := p.Errno(); errno != unix.ESTALE {
		t.Errorf("stat: %v, want ESTALE", errno)
	}
}

// Requests says who asks what. Those of another program are not Own, those of this one are.
func TestRequests(t *testing.T) {
	s := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	s.Hang()
	p := testfuse.HoldStat(t, s.MountPoint())
	testfuse.Await(t, "the server to have the request", func() bool { return s.Unanswered() == 1 })
	want := testfuse.Request{Opcode: 3, Thread: p.TID(), Process: p.PID(), Command: filepath.Base(os.Args[0])}
	if got := s.Requests()[0]; got != want || !strings.HasPrefix(got.String(), "GETATTR of thread ") {
		t.Errorf("%v, %+v; want %+v", got, got, want)
	}
	if own := s.Own(); len(own) > 0 {
		t.Errorf("of this program: %v", own)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = unix.Access(s.MountPoint(), unix.R_OK) }()
	testfuse.Await(t, "the server to have both requests", func() bool { return s.Unanswered() == 2 })
	if own := s.Own(); len(own) != 1 || own[0].Process != os.Getpid() || own[0].Kernel {
		t.Errorf("of this program: %v; want one of process %d", own, os.Getpid())
	}
	s.Heal()
	<-done
}

// crashEnv makes TestCrash leave a mount behind, in one of several ways.
const crashEnv = "TESTFUSE_TEST_CRASH"

func TestCrash(t *testing.T) {
	how, dir, ok := strings.Cut(os.Getenv(crashEnv), ":")
	if !ok {
		return // it is run by TestServerEndsWithTheTestProcess only
	}
	s := testfuse.Mount(t, dir, testfuse.Options{})
	s.Hang()
	p := testfuse.HoldStat(t, s.MountPoint())
	testfuse.Await(t, "the stat to block", p.Blocked)
	switch how {
	case "stopped":
		s.Stop()
	case "stuck": // a thread of this process waits too, and keeps it and its descriptors from going
		go func() { _ = unix.Access(s.MountPoint(), unix.R_OK) }()
		testfuse.Await(t, "the server to have both requests", func() bool { return s.Unanswered() == 2 })
	}
	fmt.Printf("\npids %d %d\n", s.PID(), p.PID())
	os.Exit(3)
}

func TestServerEndsWithTheTestProcess(t *testing.T) {
	testfuse.Mount(t, t.TempDir(), testfuse.Options{}) // skips where nothing can be mounted
	for _, how := range []string{"serving", "stopped", "stuck"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) })
			cmd := exec.Command(os.Args[0], "-test.run=^TestCrash$")
			cmd.Env = append(os.Environ(), crashEnv+"="+how+":"+dir)
			out, err := cmd.Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 3 {
				t.Fatalf("the crashing test: %v\n%s", err, out)
			}
			var server, stuck int
			_, pids, _ := strings.Cut(string(out), "\npids ")
			if _, err := fmt.Sscanf(pids, "%d %d", &server, &stuck); err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			for _, pid := range []int{server, stuck} {
				testfuse.Await(t, "the end of process "+strconv.Itoa(pid), func() bool {
					st := state(pid)
					return st == 0 || st == 'Z'
				})
			}
			if lines := mountLines(t, dir); len(lines) != 0 {
				t.Errorf("still mounted: %q", lines)
			}
		})
	}
}
