package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// fallbackFiles lists the report that was written to memory, and what else is there.
func fallbackFiles(t testing.TB) []string {
	t.Helper()
	onlyFile(t, fallback, ".html")
	readReport(t, onlyFile(t, fallback, ".json"))
	return namesIn(t, fallback)
}

func TestThePromptIsBackThoughAThreadOfOursIsStuckInTheKernel(t *testing.T) {
	if !onNode(t) {
		return
	}
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	server.Hang()
	// finish reads both pipes to their ends, and fails if somebody holds them after the program has gone.
	r := examine(t, 0, "--hung-after", "1s").report(t)
	self := r.Evidence.Collector
	if len(self.Outstanding) != 1 || self.Outstanding[0].Key != server.Device() {
		t.Fatalf("outstanding calls %+v, want the one to %s", self.Outstanding, server.Device())
	}
	pid, tid := self.PID, self.Outstanding[0].TID
	testfuse.Await(t, "the probe to be unkillable", func() bool { return taskState(pid, tid) == "D" })
	onlyProgramsLeft(t, pid)
	if got := healthAt(t, r, server.MountPoint()); got.Status != mounts.StatusHung {
		t.Errorf("the dead mount is %+v", got)
	}
	server.Heal()
	onlyProgramsLeft(t)
}

func TestTheWorkingDirectoryMayBeOnADeadMount(t *testing.T) {
	if !onNode(t) {
		return
	}
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	out := t.TempDir()
	sh := exec.CommandContext(t.Context(), "/bin/sh", "-c", `echo ready && read go && exec "$@"`, "sh",
		program(t, programName), "--hung-after", "1s", "--timeout", "20s", "--output-dir", out)
	sh.Dir = server.MountPoint()
	in, err1 := sh.StdinPipe()
	ready, w, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	sh.Stdout = w
	wait := start(t, sh)
	if _, err := ready.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	server.Hang()
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if o := wait(); o.status != exitDone {
		t.Errorf("exit status %d: %s", o.status, o.stderr)
	}
	if got := healthAt(t, readReport(t, onlyFile(t, out, ".json")), server.MountPoint()); got.Status != mounts.StatusHung {
		t.Errorf("the dead mount is %+v", got)
	}
}

func TestAReportThatCannotGoToADeadMountGoesToMemory(t *testing.T) {
	if !onNode(t) {
		return
	}
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"out/": ""}})
	server.Hang()
	out := filepath.Join(server.MountPoint(), "out")
	o := finish(t, command(t, "--output-dir", out, "--hung-after", "1s", "--timeout", "10s"))
	if o.status != exitFailed {
		t.Errorf("exit status %d, want %d", o.status, exitFailed)
	}
	for _, part := range []string{out, "timed out: the directory may be on a dead mount", "written to " + fallback} {
		if !strings.Contains(o.stderr, part) {
			t.Errorf("standard error does not say %q: %s", part, o.stderr)
		}
	}
	if names := fallbackFiles(t); len(names) != 2 {
		t.Errorf("%s has %q", fallback, names)
	}
	if !strings.Contains(o.stdout, fallback) || !strings.Contains(o.stdout, "has not responded") {
		t.Errorf("the summary does not say where the files are, or what is wrong: %s", o.stdout)
	}
	server.Heal()
	onlyProgramsLeft(t)
}

func TestAReportThatDoesNotFitOnTheDiskGoesToMemory(t *testing.T) {
	if !onNode(t) {
		return
	}
	full := t.TempDir()
	tinyDisk(t, full)
	o := finish(t, command(t, "--output-dir", full))
	if o.status != exitFailed || !strings.Contains(o.stderr, unix.ENOSPC.Error()) || !strings.Contains(o.stderr, full) {
		t.Errorf("exit status %d, %q; want 1, and %q about %s", o.status, o.stderr, unix.ENOSPC, full)
	}
	if names := namesIn(t, full); len(names) != 0 {
		t.Errorf("partial files are left: %q", names)
	}
	if names := fallbackFiles(t); len(names) != 2 {
		t.Errorf("%s has %q", fallback, names)
	}

	t.Run("and to the terminal where memory is full, too", func(t *testing.T) {
		tinyDisk(t, fallback)
		o := finish(t, command(t, "--output-dir", full))
		if o.status != exitFailed || !strings.Contains(o.stderr, fallback) {
			t.Errorf("exit status %d, %q; want 1, and something about %s", o.status, o.stderr, fallback)
		}
		if !strings.Contains(o.stdout, nodeName) {
			t.Errorf("no summary: %q", o.stdout)
		}
		if names := append(namesIn(t, full), namesIn(t, fallback)...); len(names) != 0 {
			t.Errorf("partial files are left: %q", names)
		}
	})
}

// tinyDisk mounts one that holds less than any report.
func tinyDisk(t testing.TB, dir string) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

func TestNobodyHasToReadTheTerminal(t *testing.T) {
	if !onNode(t) {
		return
	}
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	server.Hang()
	t.Run("stopped with Ctrl-S", func(t *testing.T) {
		tty := stoppedTerminal(t)
		out := t.TempDir()
		cmd := command(t, "--output-dir", out, "--hung-after", "1s")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		if o := finish(t, cmd); o.status != exitDone {
			t.Errorf("exit status %d", o.status)
		}
		onlyFile(t, out, ".html")
		readReport(t, onlyFile(t, out, ".json"))
	})
	t.Run("a pipe that is full", func(t *testing.T) {
		out := t.TempDir()
		cmd := command(t, "--output-dir", out, "--no-probe")
		cmd.Stdout = fullPipe(t)
		if o := finish(t, cmd); o.status != exitDone {
			t.Errorf("exit status %d: %s", o.status, o.stderr)
		}
		readReport(t, onlyFile(t, out, ".json"))
	})
	t.Run("a pipe whose reader has gone", func(t *testing.T) {
		out := t.TempDir()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		defer func() { _ = w.Close() }()
		cmd := command(t, "--output-dir", out, "--no-probe")
		cmd.Stdout = w
		if o := finish(t, cmd); o.status != exitDone {
			t.Errorf("exit status %d: %s", o.status, o.stderr)
		}
		readReport(t, onlyFile(t, out, ".json"))
	})
	t.Run("but a report for standard output is then missing", func(t *testing.T) {
		cmd := command(t, "-o", "json", "--no-probe", "--timeout", "3s")
		cmd.Stdout = fullPipe(t)
		if o := finish(t, cmd); o.status != exitFailed || !strings.Contains(o.stderr, "standard output") {
			t.Errorf("exit status %d, %q; want 1 and a word about standard output", o.status, o.stderr)
		}
	})
}

// stoppedTerminal is a terminal on which somebody has pressed Ctrl-S.
func stoppedTerminal(t testing.TB) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	if err := unix.IoctlSetInt(int(slave.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	return slave
}

// fullPipe is one into which nothing more can be written.
func fullPipe(t testing.TB) *os.File {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(p[0]) })
	for err := error(nil); err == nil; {
		_, err = unix.Write(p[1], make([]byte, 4096))
	}
	if err := unix.SetNonblock(p[1], false); err != nil {
		t.Fatal(err)
	}
	w := os.NewFile(uintptr(p[1]), "pipe")
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// TestWithoutAFreeProcessThereIsALineOrAReport raises the number of processes and threads that the program may have from too
// few to enough. Below that the Go runtime cannot begin, and says so itself.
func TestWithoutAFreeProcessThereIsALineOrAReport(t *testing.T) {
	if !onNode(t) {
		return
	}
	group := pidsCgroup(t)
	refused, failed := 0, 0
	for limit := 8; ; limit++ {
		if limit > 200 {
			t.Fatal("even 200 processes and threads are not enough")
		}
		if err := os.WriteFile(filepath.Join(group, "pids.max"), []byte(strconv.Itoa(limit)), 0o600); err != nil {
			t.Fatal(err)
		}
		out := t.TempDir()
		o := finish(t, limited(t, command(t), "echo $$ >"+filepath.Join(group, "cgroup.procs"), "--output-dir", out, "--no-probe", "--timeout", "20s"))
		if refusedOrWhole(t, fmt.Sprintf("%d processes", limit), o, out, tooFewProcesses) {
			refused++
			continue
		}
		r := readReport(t, onlyFile(t, out, ".json"))
		if o.status == exitDone {
			if len(r.Evidence.Processes) == 0 {
				t.Errorf("at %d nothing was collected, and nothing said: %s", limit, o.stderr)
			}
			break
		}
		failed++
		if !strings.Contains(o.stderr, "collect") || strings.Count(o.stderr, "\n") > 3 {
			t.Errorf("at %d: exit status %d: %s", limit, o.status, o.stderr)
		}
	}
	if refused == 0 || failed == 0 {
		t.Errorf("%d were refused and %d could not collect: the test tests nothing", refused, failed)
	}
}

// pidsCgroup makes a group whose processes can be limited, in either version of cgroups.
func pidsCgroup(t testing.TB) string {
	t.Helper()
	for _, parent := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		dir := filepath.Join(parent, fmt.Sprintf("nodeforensics-test-%d", time.Now().UnixNano()))
		if _, err := os.Stat(filepath.Join(parent, "cgroup.procs")); err != nil {
			continue
		}
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			// Processes that were left to init are still ending.
			testfuse.Await(t, "the group to be empty", func() bool { return os.Remove(dir) == nil })
		})
		if _, err := os.Stat(filepath.Join(dir, "pids.max")); err == nil {
			return dir
		}
	}
	t.Skip("no pids controller of cgroups")
	return ""
}

func TestAnInterruptedRunReportsWhatItHas(t *testing.T) {
	if !onNode(t) {
		return
	}
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	server.Hang()
	for _, signal := range []syscall.Signal{unix.SIGINT, unix.SIGTERM} {
		t.Run(unix.SignalName(signal), func(t *testing.T) {
			out, before := t.TempDir(), server.Unanswered()
			cmd := command(t, "--output-dir", out, "--hung-after", "50s")
			wait := start(t, cmd)
			testfuse.Await(t, "the probe", func() bool { return server.Unanswered() > before })
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			o := wait()
			if !strings.Contains(o.stderr, "interrupted") {
				t.Errorf("nothing is said about it: %s", o.stderr)
			}
			if o.status != exitFailed {
				t.Errorf("exit status %d, want %d: the examination is not whole", o.status, exitFailed)
			}
			onlyFile(t, out, ".html")
			r := readReport(t, onlyFile(t, out, ".json"))
			if r.Evidence.Collector.Interrupted == "" || len(r.Evidence.Processes) == 0 {
				t.Errorf("collector %+v with %d processes; want it to say that it was interrupted, and what it had",
					r.Evidence.Collector, len(r.Evidence.Processes))
			}
			if got := healthAt(t, r, server.MountPoint()); got.Status != mounts.StatusUnanswered {
				t.Errorf("a mount that had no time to answer is %+v", got)
			}
			if bad := atLeast(r, forensics.Warning); len(bad) > 0 {
				t.Errorf("a judgement without its time: %s", titles(r))
			}
			server.Heal() // for what the program has left behind, which the next run would report
			onlyProgramsLeft(t)
			server.Hang()
		})
	}
}

func TestTheDeadlineEndsARunThatIsNotWhole(t *testing.T) {
	if !onNode(t) {
		return
	}
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	server.Hang()
	o := examine(t, exitFailed, "--hung-after", "30s", "--timeout", "10s")
	if !strings.Contains(o.stderr, "--timeout") {
		t.Errorf("nothing is said about the deadline: %s", o.stderr)
	}
	r := o.report(t)
	if got := healthAt(t, r, server.MountPoint()); got.Status != mounts.StatusUnanswered {
		t.Errorf("a mount that had no time to answer is %+v", got)
	}
	if bad := atLeast(r, forensics.Warning); len(bad) > 0 {
		t.Errorf("a judgement without its time: %s", titles(r))
	}
}

func TestACollectorThatDoesNotFinishIsLeftAtTheDeadline(t *testing.T) {
	if !onNode(t) {
		return
	}
	server := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	server.Hang()
	out := t.TempDir()
	cmd := command(t, "--output-dir", out, "--hung-after", "30s", "--timeout", "8s")
	wait := start(t, cmd)
	testfuse.Await(t, "the probe", func() bool { return server.Unanswered() > 0 })
	collector := 0
	for pid := range processesOf(t, program(t, programName)) {
		if pid != cmd.Process.Pid {
			collector = pid
		}
	}
	// A signal to the process may be given to the thread that is stuck, which never takes it.
	for _, task := range namesIn(t, fmt.Sprintf("/proc/%d/task", collector)) {
		tid, err := strconv.Atoi(task)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Tgkill(collector, tid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = unix.Kill(collector, unix.SIGCONT) })
	o := wait()
	if o.status != exitFailed || !strings.Contains(o.stderr, fmt.Sprintf("pid %d", collector)) || !strings.Contains(o.stderr, "did not finish in time") {
		t.Errorf("exit status %d, %q; want 1, and the collector's pid %d", o.status, o.stderr, collector)
	}
	r := readReport(t, onlyFile(t, out, ".json"))
	if len(r.Evidence.Processes) == 0 || len(r.Evidence.Mounts.Mounts) == 0 {
		t.Error("the report lacks what had been sent")
	}
	if got := coverage(t, r, forensics.SourceCollector); got.Status != forensics.SourceTimeout {
		t.Errorf("coverage of the collector: %+v, want timeout", got)
	}
	if ids := clean(r, forensics.SourceHealth); len(ids) > 0 {
		t.Errorf("%q are clean, though no mount was looked at", ids)
	}
}

func TestWithoutRootItSaysWhatItCouldNotSee(t *testing.T) {
	if !onNode(t) {
		return
	}
	root := t.TempDir()
	mountVolume(t, root, livePod, someVolume())
	startKubelet(t, root)
	// Everybody can reach memory, but perhaps not where tests put their files.
	out, exe := filepath.Join(fallback, "out"), filepath.Join(fallback, programName)
	err := errors.Join(
		os.Mkdir(out, 0o755), os.Chown(out, 65534, 65534),
		os.WriteFile(exe, []byte(readFile(t, program(t, programName))), 0o755),
	)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "--output-dir", out)
	cmd.Path, cmd.Dir = exe, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	o := finish(t, cmd)
	if o.status != exitDone || !strings.Contains(o.stderr, "not root") {
		t.Errorf("exit status %d, %q; want 0, and a word about root", o.status, o.stderr)
	}
	onlyFile(t, out, ".html")
	r := readReport(t, onlyFile(t, out, ".json"))
	if got := coverage(t, r, forensics.SourceThreads); got.Status != forensics.SourceDenied {
		t.Errorf("coverage of threads is %+v, want denied", got)
	}
	if bad := atLeast(r, forensics.Warning); len(bad) > 0 {
		t.Errorf("a healthy node, seen by nobody: %s", titles(r))
	}
	for _, outcome := range r.Outcomes {
		if outcome.Check == "thread-blocked" && outcome.Status != forensics.OutcomeNotChecked {
			t.Errorf("%+v, want not-checked", outcome)
		}
	}
}
