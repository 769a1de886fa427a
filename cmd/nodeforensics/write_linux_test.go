package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func TestReportsAreTheirOwnersAlone(t *testing.T) {
	if !onNode(t) {
		return
	}
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	o := examine(t, exitDone, "--no-probe")
	for _, extension := range []string{".html", ".json"} {
		info, err := os.Stat(o.file(t, extension))
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v; want 0600", extension, info.Mode(), err)
		}
	}
}

// TestAFileSystemWithoutHardLinks refuses them, as vfat does and many FUSE servers do.
func TestAFileSystemWithoutHardLinks(t *testing.T) {
	if !onNode(t) {
		return
	}
	out := t.TempDir()
	saved := examine(t, exitDone, "--no-probe").file(t, ".json")
	for range 2 {
		cmd := refusing(t, command(t, "render", saved, "--output-dir", out), unix.SYS_LINKAT)
		if o := finish(t, cmd); o.status != exitDone {
			t.Fatalf("exit status %d: %s", o.status, o.stderr)
		}
	}
	base := strings.TrimSuffix(filepath.Base(saved), ".json")
	want := []string{base + "-2.html", base + "-2.json", base + ".html", base + ".json"}
	if names := namesIn(t, out); !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	for _, name := range want {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestOldKernelsAndStrictContainers refuse calls that are newer than Linux 3.10, as a container's profile of seccomp does.
func TestOldKernelsAndStrictContainers(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	mountVolume(t, root, livePod, someVolume())
	startKubelet(t, root)
	out := t.TempDir()
	o := finish(t, refusing(t, command(t, "--output-dir", out), unix.SYS_OPENAT2, unix.SYS_STATX, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL,
		unix.SYS_MEMFD_CREATE, unix.SYS_CLOSE_RANGE, unix.SYS_PTRACE, unix.SYS_EPOLL_PWAIT2, unix.SYS_RENAMEAT2))
	if o.status != exitDone {
		t.Errorf("exit status %d: %s", o.status, o.stderr)
	}
	r := readReport(t, onlyFile(t, out, ".json"))
	if len(r.Evidence.PodDirs) != 1 || len(r.Evidence.Mounts.Mounts) == 0 {
		t.Errorf("%d pod directories, %d mounts", len(r.Evidence.PodDirs), len(r.Evidence.Mounts.Mounts))
	}
}

// refusing makes a command one for which some system calls fail with EPERM.
func refusing(t testing.TB, cmd *exec.Cmd, calls ...int) *exec.Cmd {
	t.Helper()
	args := []string{"refuse"}
	for _, call := range calls {
		args = append(args, strconv.Itoa(call))
	}
	cmd.Args = append(append(args, "--", cmd.Path), cmd.Args...)
	cmd.Path = os.Args[0]
	cmd.Env = nodeEnvironment(nodeRefuse)
	return cmd
}

// refuseMain becomes another program, which some system calls are refused: numbers, "--", a path, arguments.
func refuseMain(args []string) int {
	runtime.LockOSThread()
	end := slices.Index(args, "--")
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number, seccomp(2)
	for _, arg := range args[:end] {
		call, _ := strconv.Atoi(arg)
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(call)},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	if err == nil {
		err = unix.Exec(args[end+1], args[end+2:], nodeEnvironment(""))
	}
	fmt.Fprintln(os.Stderr, "refuse:", err)
	return 1
}

// writingToNowhere starts an examination whose report goes to a dead mount, and returns when it is being written.
func writingToNowhere(t testing.TB) (cmd *exec.Cmd, wait func() outcome, out string) {
	t.Helper()
	server := testfuse.Mount(t, strayDir(t), testfuse.Options{Files: map[string]string{"out/": ""}})
	server.Hang()
	out = filepath.Join(server.MountPoint(), "out")
	cmd = command(t, "--output-dir", out, "--no-probe", "--interval", "0")
	wait = start(t, cmd)
	testfuse.Await(t, "the writer", func() bool { return server.Unanswered() > 0 })
	t.Cleanup(server.Heal)
	return cmd, wait, out
}

func TestAnInterruptWhileTheReportIsWritten(t *testing.T) {
	if !onNode(t) {
		return
	}
	for _, signal := range []syscall.Signal{unix.SIGINT, unix.SIGTERM} {
		t.Run(unix.SignalName(signal), func(t *testing.T) {
			cmd, wait, out := writingToNowhere(t)
			at := time.Now()
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			o := wait()
			if took := time.Since(at); took > 10*time.Second {
				t.Errorf("it went on for %v, as if nobody had asked", took)
			}
			for _, part := range []string{"interrupted", out, "written to " + fallback} {
				if !strings.Contains(o.stderr, part) {
					t.Errorf("standard error does not say %q: %s", part, o.stderr)
				}
			}
			if o.status != exitFailed {
				t.Errorf("exit status %d", o.status)
			}
			if names := fallbackFiles(t); len(names) != 2 {
				t.Errorf("%s has %q", fallback, names)
			}
			for _, name := range namesIn(t, fallback) {
				if err := os.Remove(filepath.Join(fallback, name)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestASecondInterruptEndsItAtOnce(t *testing.T) {
	if !onNode(t) {
		return
	}
	cmd, wait, out := writingToNowhere(t)
	ended := make(chan outcome, 1)
	go func() { ended <- wait() }()
	var o outcome
	testfuse.Await(t, "the program to end", func() bool {
		_ = cmd.Process.Signal(unix.SIGINT)
		select {
		case o = <-ended:
			return true
		default:
			return false
		}
	})
	if o.status != exitFailed || !strings.Contains(o.stderr, "interrupted again: no report was written; process ") || !strings.Contains(o.stderr, out) {
		t.Errorf("exit status %d, %q; want 1, and what is left where", o.status, o.stderr)
	}
}

// TestASignalAtAnyMomentLeavesTheReport interrupts and hangs up while the program collects, judges, renders, writes or
// prints.
func TestASignalAtAnyMomentLeavesTheReport(t *testing.T) {
	if !onNode(t) {
		return
	}
	startKubelet(t, t.TempDir())
	for i := range 16 {
		signal := []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGPIPE}[i%4]
		out := t.TempDir()
		testfuse.Await(t, "the last collector to end", func() bool { return !runs(t, childArg) })
		cmd := command(t, "--output-dir", out, "--no-probe", "--interval", "0")
		wait := start(t, cmd)
		testfuse.Await(t, "the collector, or its end", func() bool {
			return runs(t, childArg) || !processesOf(t, program(t, programName))[cmd.Process.Pid]
		})
		time.Sleep(time.Duration(i/4) * 60 * time.Millisecond) // any moment will do
		_ = cmd.Process.Signal(signal)
		o := wait()
		if o.status != exitDone && (o.status != exitFailed || !strings.Contains(o.stderr, "interrupted")) {
			t.Errorf("%v: exit status %d: %s", signal, o.status, o.stderr)
		}
		onlyFile(t, out, ".html")
		readReport(t, onlyFile(t, out, ".json"))
	}
}

// runs says whether one of the program's children does.
func runs(t testing.TB, role string) bool {
	t.Helper()
	for pid := range processesOf(t, program(t, programName)) {
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.Contains(string(line), role) {
			return true
		}
	}
	return false
}

// TestACollectorThatDiesBetweenItsParts kills the collecting process.
func TestACollectorThatDiesBetweenItsParts(t *testing.T) {
	if !onNode(t) {
		return
	}
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	server.Hang()
	out := t.TempDir()
	cmd := command(t, "--output-dir", out, "--hung-after", "50s")
	wait := start(t, cmd)
	testfuse.Await(t, "the probe", func() bool { return server.Unanswered() > 0 })
	for pid := range processesOf(t, program(t, programName)) {
		if pid != cmd.Process.Pid {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	server.Heal() // it cannot die before: how it has died, the program may not learn in time
	o := wait()
	r := readReport(t, onlyFile(t, out, ".json"))
	if o.status != exitFailed || !strings.Contains(o.stderr, "ended early: ") {
		t.Errorf("exit status %d: %s", o.status, o.stderr)
	}
	if len(r.Evidence.Processes) == 0 || !strings.Contains(r.Evidence.Collector.Interrupted, "ended early: ") {
		t.Errorf("%d processes, collector %+v; want what it had sent, and that it has ended", len(r.Evidence.Processes), r.Evidence.Collector)
	}
	if html := readFile(t, onlyFile(t, out, ".html")); !strings.Contains(html, "ended early") {
		t.Error("the page does not say it")
	}
	if got := coverage(t, r, forensics.SourceCollector); got.Status.Usable() {
		t.Errorf("coverage %+v", got)
	}
}

// TestALimitOfFileSizesIsAnError has one that no report fits into; it comes as a signal that ends a program.
func TestALimitOfFileSizesIsAnError(t *testing.T) {
	if !onNode(t) {
		return
	}
	out := t.TempDir()
	cmd := command(t)
	o := finish(t, limited(t, cmd, "ulimit -f 8", "--output-dir", out, "--no-probe"))
	if o.status != exitFailed || !strings.Contains(o.stderr, unix.EFBIG.Error()) || strings.Contains(o.stderr, "goroutine") {
		t.Errorf("exit status %d: %s", o.status, o.stderr)
	}
	if names := slices.Concat(namesIn(t, out), namesIn(t, fallback)); len(names) > 0 || !strings.Contains(o.stdout, nodeName) {
		t.Errorf("left %q, said %q; want nothing but the summary", names, o.stdout)
	}
}

// limited is the program after a command of the shell.
func limited(t testing.TB, cmd *exec.Cmd, before string, args ...string) *exec.Cmd {
	t.Helper()
	cmd.Path = "/bin/sh"
	cmd.Args = append([]string{"sh", "-c", before + ` && exec "$0" "$@"`, program(t, programName)}, args...)
	return cmd
}

func TestTooFewDescriptors(t *testing.T) {
	if !onNode(t) {
		return
	}
	refused, reported := 0, 0
	for limit := 4; limit <= 64; limit += 1 + limit/16 {
		out := t.TempDir()
		o := finish(t, limited(t, command(t), "ulimit -n "+strconv.Itoa(limit), "--output-dir", out, "--no-probe", "--interval", "0", "--timeout", "20s"))
		if refusedOrWhole(t, fmt.Sprintf("%d descriptors", limit), o, out, tooFewDescriptors) {
			refused++
		} else {
			reported++
		}
	}
	if refused == 0 || reported == 0 {
		t.Errorf("%d were refused and %d reported: the test tests nothing", refused, reported)
	}
}

// refusedOrWhole wants one line, or a whole report.
func refusedOrWhole(t testing.TB, at string, o outcome, out, words string) (refused bool) {
	t.Helper()
	if strings.Contains(o.stderr, "goroutine ") || strings.Contains(o.stderr, "runtime.") {
		t.Errorf("%s: a crash: %s", at, o.stderr)
	}
	if len(namesIn(t, out)) == 0 {
		if o.status != exitFailed || !strings.Contains(o.stderr, words) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: exit status %d, %q; want 1, and one line: %s", at, o.status, o.stderr, words)
		}
		return true
	}
	r := readReport(t, onlyFile(t, out, ".json"))
	if o.status != exitDone && coverage(t, r, forensics.SourceCollector).Status.Usable() {
		t.Errorf("%s: exit status %d, and the report does not say why: %s", at, o.status, o.stderr)
	}
	return false
}

// asNobody are the rights of a user without any.
func asNobody() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
