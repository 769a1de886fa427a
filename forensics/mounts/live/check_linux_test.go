package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// Tests that expect an answer wait this long before they call a mount hung, those that expect none only so long. The
// latter is the time that such a test takes.
const (
	longWait  = time.Minute
	shortWait = 300 * time.Millisecond
)

// readIndex reads the mounts of the test process.
func readIndex(t testing.TB) *mounts.Index {
	t.Helper()
	table, err := Read(t.Context(), openFS(t, "/"), 0)
	if err != nil {
		t.Fatal(err)
	}
	return table.Index()
}

// topmost returns the topmost mount on each directory.
func topmost(t testing.TB, x *mounts.Index, dirs ...string) []mounts.Mount {
	t.Helper()
	var list []mounts.Mount
	for _, dir := range dirs {
		stack := x.At(dir)
		if len(stack) == 0 {
			t.Fatalf("nothing is mounted on %s", dir)
		}
		list = append(list, stack[len(stack)-1])
	}
	return list
}

// tempDir returns a directory with a path as mountinfo shows it.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// mount mounts something for the test.
func mount(t testing.TB, source, dir, fsType string, flags uintptr, data string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	switch err := unix.Mount(source, dir, fsType, flags, data); {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENODEV):
		t.Skipf("mounting %s: %v", fsType, err)
	case err != nil:
		t.Fatalf("mount %s on %s: %v", fsType, dir, err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) })
}

// checked asks mounts, and says what the answers mean. What takes 1 s is slow, or slowAfter.
func checked(ctx context.Context, x *mounts.Index, list []mounts.Mount, opt CheckOptions, slowAfter ...time.Duration) []mounts.Health {
	return judged(x, Check(ctx, x, list, opt), opt.HungAfter, slowAfter...)
}

func judged(x *mounts.Index, probes []mounts.Probe, hungAfter time.Duration, slowAfter ...time.Duration) []mounts.Health {
	slow := time.Second
	if len(slowAfter) > 0 && slowAfter[0] != 0 {
		slow = slowAfter[0]
	}
	var list []mounts.Health
	for _, p := range probes {
		m, _ := x.ByID(p.MountID)
		list = append(list, p.Judge(m, cmp.Or(hungAfter, time.Minute), slow))
	}
	return list
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		options testfuse.Options
		trouble func(*testfuse.Server)
		opt     CheckOptions
		slow    time.Duration // after that, by default 1 s
		want    mounts.Health // Seconds: at least
	}{
		"healthy": {
			trouble: func(*testfuse.Server) {},
			opt:     CheckOptions{HungAfter: longWait},
			slow:    longWait,
			want:    mounts.Health{Status: mounts.StatusOK},
		},
		"late is slow, not hung": {
			trouble: func(s *testfuse.Server) { s.Delay(200 * time.Millisecond) },
			opt:     CheckOptions{HungAfter: longWait},
			slow:    100 * time.Millisecond,
			want:    mounts.Health{Status: mounts.StatusSlow, Seconds: 0.2},
		},
		"each call in time, both together not": {
			trouble: func(s *testfuse.Server) { s.Delay(2 * time.Second) },
			opt:     CheckOptions{HungAfter: 3 * time.Second},
			want:    mounts.Health{Status: mounts.StatusSlow, Seconds: 4},
		},
		"hung": {
			trouble: (*testfuse.Server).Hang,
			opt:     CheckOptions{HungAfter: shortWait},
			want:    mounts.Health{Status: mounts.StatusHung, Call: callStatx, Seconds: shortWait.Seconds()},
		},
		"server stopped": {
			trouble: (*testfuse.Server).Stop,
			opt:     CheckOptions{HungAfter: shortWait},
			want:    mounts.Health{Status: mounts.StatusHung, Call: callStatx, Seconds: shortWait.Seconds()},
		},
		"server killed": {
			trouble: (*testfuse.Server).Kill,
			opt:     CheckOptions{HungAfter: longWait},
			want:    mounts.Health{Status: mounts.StatusDisconnected, Call: callStatx, Error: unix.ENOTCONN.Error()},
		},
		"connection aborted": {
			trouble: (*testfuse.Server).Abort,
			opt:     CheckOptions{HungAfter: longWait},
			want:    mounts.Health{Status: mounts.StatusDisconnected, Call: callStatx, Error: unix.ENOTCONN.Error()},
		},
		"stale": {
			trouble: func(s *testfuse.Server) { s.Fail(unix.ESTALE) },
			opt:     CheckOptions{HungAfter: longWait},
			want:    mounts.Health{Status: mounts.StatusStale, Call: callStatx, Error: unix.ESTALE.Error()},
		},
		"I/O error": {
			trouble: func(s *testfuse.Server) { s.Fail(unix.EIO) },
			opt:     CheckOptions{HungAfter: longWait},
			want:    mounts.Health{Status: mounts.StatusIOError, Call: callStatx, Error: unix.EIO.Error()},
		},
		"server refuses": {
			trouble: func(s *testfuse.Server) { s.Fail(unix.EACCES) },
			opt:     CheckOptions{HungAfter: longWait},
			want: mounts.Health{
				Status: mounts.StatusDenied, Call: callStatx, Error: unix.EACCES.Error(), Reason: "this proves nothing about the server",
			},
		},
		"without allow_other, by another user, and hung": {
			options: testfuse.Options{NoAllowOther: true, UserID: 1000},
			trouble: (*testfuse.Server).Hang,
			opt:     CheckOptions{HungAfter: longWait},
			want: mounts.Health{
				Status: mounts.StatusDenied, Call: callStatx, Error: unix.EACCES.Error(),
				Reason: "mounted without allow_other: the request did not reach its server",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			s := testfuse.Mount(t, dir, tc.options)
			x := readIndex(t)
			tc.trouble(s)
			var group probe.Group
			tc.opt.Group = &group
			m := topmost(t, x, dir)[0]
			got := checked(t.Context(), x, []mounts.Mount{m}, tc.opt, tc.slow)[0]
			want := tc.want
			want.MountID, want.Device, want.MountPoint, want.Method = m.ID, s.Device(), dir, mounts.MethodProbe
			wantSameHealth(t, want, got)
			hung := want.Status == mounts.StatusHung
			if (got.Since != nil) != hung || hung && time.Since(*got.Since) < shortWait {
				t.Errorf("since = %v; want it for a hung mount only, and then the beginning", got.Since)
			}
			if n := len(group.Outstanding()); (n == 1) != hung {
				t.Errorf("%d calls outstanding with status %s", n, got.Status)
			}
		})
	}
}

// wantSameHealth compares. An empty Call and no Seconds in want stand for any.
func wantSameHealth(t *testing.T, want, got mounts.Health) {
	t.Helper()
	if got.Seconds < want.Seconds {
		t.Errorf("%v s; want at least %v", got.Seconds, want.Seconds)
	}
	if want.Call == "" && got.Method != "" {
		want.Call = got.Call
		if got.Call == "" {
			t.Error("the call is not named")
		}
	}
	want.Seconds, want.Since, want.Waiting = got.Seconds, got.Since, got.Waiting
	if fmt.Sprintf("%+v", want) != fmt.Sprintf("%+v", got) {
		t.Errorf("health:\nwant %+v\n got %+v", want, got)
	}
}

// TestExamineStatfs has mounts that answer statx and then not statfs.
func TestExamineStatfs(t *testing.T) {
	for name, tc := range map[string]struct {
		errno  syscall.Errno
		failed string
	}{
		"fails":                   {unix.EIO, callStatfs},
		"does not know that call": {unix.ENOSYS, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			s := testfuse.Mount(t, dir, testfuse.Options{})
			m := topmost(t, readIndex(t), dir)[0]
			var calls []string
			failed, err := examine(dir, m.ID, func(call string) {
				if calls = append(calls, call); call == callStatfs {
					s.Fail(tc.errno)
				}
			})
			if failed != tc.failed || (failed == "") != (err == nil) || failed != "" && !errors.Is(err, tc.errno) {
				t.Errorf("%q failed with %v; want %q with %v", failed, err, tc.failed, tc.errno)
			}
			if got := strings.Join(calls, " "); got != "openat statx statfs" {
				t.Errorf("calls = %s", got)
			}
		})
	}
}

// TestCheckHeals has a server that starts to answer while it is waited for.
func TestCheckHeals(t *testing.T) {
	dir := tempDir(t)
	s := testfuse.Mount(t, dir, testfuse.Options{})
	x := readIndex(t)
	list := topmost(t, x, dir)
	s.Hang()
	result := make(chan mounts.Health)
	go func() {
		result <- checked(t.Context(), x, list, CheckOptions{HungAfter: longWait}, time.Nanosecond)[0]
	}()
	testfuse.Await(t, "the server to be asked", func() bool { return s.Unanswered() > 0 })
	s.Heal()
	if got := <-result; got.Status != mounts.StatusSlow || got.Seconds == 0 {
		t.Errorf("health = %+v; want slow", got)
	}
}

func TestCheckOutOfTime(t *testing.T) {
	dir := tempDir(t)
	s := testfuse.Mount(t, dir, testfuse.Options{})
	x := readIndex(t)
	list := topmost(t, x, dir)
	s.Hang()
	got := checked(cancelled(t), x, list, CheckOptions{})[0]
	if want := "not probed before the timeout"; got.Status != mounts.StatusNotProbed || got.Method != "" || got.Reason != want {
		t.Errorf("time up before: %+v; want not probed, %s", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan mounts.Health)
	go func() { result <- checked(ctx, x, list, CheckOptions{HungAfter: longWait})[0] }()
	testfuse.Await(t, "the server to be asked", func() bool { return s.Unanswered() > 0 })
	cancel()
	got = <-result
	if got.Status != mounts.StatusUnanswered || got.Method != mounts.MethodProbe || got.Call != callStatx || got.Seconds <= 0 || got.Since != nil {
		t.Errorf("time up meanwhile: %+v; want unanswered in statx", got)
	}
}

// TestCheckAgain finds the call of an earlier check outstanding, and in the end that it has come back.
func TestCheckAgain(t *testing.T) {
	dir := tempDir(t)
	s := testfuse.Mount(t, dir, testfuse.Options{})
	x := readIndex(t)
	list := topmost(t, x, dir)
	s.Hang()
	var group probe.Group
	first := Check(t.Context(), x, list, CheckOptions{Group: &group, HungAfter: shortWait})
	call := group.Outstanding()[0]
	for _, tc := range []struct {
		hungAfter time.Duration
		want      mounts.Status
	}{{shortWait, mounts.StatusHung}, {longWait, mounts.StatusUnanswered}} {
		got := checked(t.Context(), x, list, CheckOptions{Group: &group, HungAfter: tc.hungAfter})[0]
		reason := fmt.Sprintf("thread %d still waits for an earlier call", call.TID)
		if got.Status != tc.want || got.Reason != reason || got.Seconds < shortWait.Seconds() || got.Method != mounts.MethodProbe {
			t.Errorf("after %v: %+v; want %s, %s", tc.hungAfter, got, tc.want, reason)
		}
		if hung := tc.want == mounts.StatusHung; hung != (got.Since != nil) || hung && !got.Since.Equal(call.Since) {
			t.Errorf("since = %v; want %v if hung", got.Since, call.Since)
		}
	}
	if group.GivenUp() != 1 {
		t.Errorf("%d calls given up; want 1", group.GivenUp())
	}
	Review(first, &group)
	if got := judged(x, first, shortWait)[0]; got.Status != mounts.StatusHung {
		t.Errorf("still outstanding: %+v; want hung", got)
	}
	s.Heal()
	testfuse.Await(t, "the call to come back", func() bool { return len(group.Outstanding()) == 0 })
	Review(first, &group)
	if got := judged(x, first, shortWait)[0]; got.Status != mounts.StatusRecovered || !strings.HasPrefix(got.Reason, "responded only after more than ") {
		t.Errorf("came back: %+v; want recovered", got)
	}
}
