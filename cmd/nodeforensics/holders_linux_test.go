package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
	"github.com/nodeforensics/nodeforensics/report"
)

// TestHoldersOfHungMount asks for the holders of a mount that does not answer, by its path and by one below it.
func TestHoldersOfHungMount(t *testing.T) {
	if !onNode(t) {
		return
	}
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{Type: "fuse.ceph-fuse", Source: "10.0.0.5:/k8s"})
	name := filepath.Join(fuse.MountPoint(), "a\x1b[31mb")
	holder := testfuse.Hold(t, testfuse.FD, name)
	fuse.Hang()
	caller := testfuse.HoldStat(t, filepath.Join(fuse.MountPoint(), "x"))
	testfuse.Await(t, "a call to wait", caller.Blocked)
	for _, query := range []string{fuse.MountPoint(), fuse.MountPoint() + "/below/it", filepath.Base(fuse.MountPoint())} {
		o := finish(t, command(t, "holders", query))
		if o.status != exitDone {
			t.Errorf("holders %s: status %d\n%s", query, o.status, o.stderr)
		}
		wants := []string{
			fuse.MountPoint() + ": fuse.ceph-fuse from 10.0.0.5:/k8s", strconv.Itoa(holder.PID()), "root", `a\x1b[31mb`, "Not visible",
			strconv.Itoa(caller.PID()), "newfstatat",
		}
		if _, err := os.Lstat(fmt.Sprintf("/sys/fs/fuse/connections/%d/waiting", fuse.Minor())); err == nil {
			wants = append(wants, "1 request without an answer")
		}
		if tellsConnections(t, fuse.PID()) {
			wants = append(wants, fmt.Sprintf("served by process %d (%s)", fuse.PID(), commOf(t, fuse.PID())))
		}
		for _, want := range wants {
			if !strings.Contains(o.stdout, want) {
				t.Errorf("holders %s does not say %q:\n%s", query, want, o.stdout)
			}
		}
		if strings.Contains(o.stdout, "\x1b") {
			t.Errorf("holders %s writes an escape sequence to the terminal: %q", query, o.stdout)
		}
	}
	o := finish(t, command(t, "holders", "-o", "json", fuse.MountPoint()))
	var got struct{ Answers []report.MountHolders }
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil {
		t.Fatalf("%v\n%s", err, o.stdout)
	}
	if len(got.Answers) != 1 || len(got.Answers[0].Mounts) != 1 || len(got.Answers[0].Mounts[0].Holders) != 1 {
		t.Fatalf("answers %+v, want one mount with one holder", got.Answers)
	}
	if h := got.Answers[0].Mounts[0].Holders[0]; h.PID != holder.PID() || h.Kind != "fd" || h.Path != name || h.ByPath {
		t.Errorf("holder %+v", h)
	}
}

func commOf(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// tellsConnections says whether the kernel tells which connection a descriptor of /dev/fuse is (Linux 6.16). Otherwise the
// server is a guess from its command line, which does not name the mount here; and where the first process may not be
// looked at, as in some sandboxes, it cannot be said that there is none.
func tellsConnections(t *testing.T, pid int) bool {
	t.Helper()
	infos, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fdinfo/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if text, err := os.ReadFile(info); err == nil && strings.Contains(string(text), "fuse_connection:") {
			return true
		}
	}
	return false
}

// TestHoldersInCalls has a thread in a call on a mount that does not answer, and nothing else that holds it.
func TestHoldersInCalls(t *testing.T) {
	if !onNode(t) {
		return
	}
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	name := filepath.Join(fuse.MountPoint(), "a\x1b[31mb")
	fuse.Hang()
	stuck := testfuse.HoldStat(t, name)
	testfuse.Await(t, "the stat to block", stuck.Blocked)
	testfuse.Await(t, "the server to have the request", func() bool { return fuse.Unanswered() > 0 })
	o := finish(t, command(t, "holders", fuse.MountPoint()))
	for _, want := range []string{
		"no open files", "; 1 system call in flight", strconv.Itoa(stuck.PID()), strconv.Itoa(stuck.TID()),
		"request_wait_answer", `a\x1b[31mb`, "root",
	} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("holders does not say %q:\n%s", want, o.stdout)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(fuse.MountPoint(), link); err != nil {
		t.Fatal(err)
	}
	o = finish(t, command(t, "holders", "-o", "json", link+"/below"))
	var got struct{ Answers []report.MountHolders }
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil {
		t.Fatalf("%v\n%s", err, o.stdout)
	}
	if len(got.Answers) != 1 || len(got.Answers[0].Mounts) != 1 || len(got.Answers[0].Mounts[0].Calls) != 1 {
		t.Fatalf("answers %+v, want one mount with one call", got.Answers)
	}
	if c := got.Answers[0].Mounts[0].Calls[0]; c.PID != stuck.PID() || c.TID != stuck.TID() || c.Path != name || c.User != "root" || c.Syscall == nil {
		t.Errorf("call %+v", c)
	}
	if n := fuse.Unanswered(); n != 1 {
		t.Errorf("the server was asked %d times, want only the process that is stuck", n)
	}
}

// TestHoldersSaysWhetherItKnowsTheServer has a server that is gone. Where not every process can be looked at, as in a
// container, that is not known.
func TestHoldersSaysWhetherItKnowsTheServer(t *testing.T) {
	if !onNode(t) {
		return
	}
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{})
	fuse.Kill()
	o := finish(t, command(t, "holders", fuse.MountPoint()))
	if !strings.Contains(o.stdout, "no server process: ") && !strings.Contains(o.stdout, "server process: unknown") {
		t.Errorf("holders does not say that there is no server, nor that it does not know:\n%s", o.stdout)
	}
}

// TestHoldersOfOddNames has names that a terminal would act on, that are no UTF-8, and as long as the kernel allows.
func TestHoldersOfOddNames(t *testing.T) {
	if !onNode(t) {
		return
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "a\nb \x1b]0;x\x07\x1b[2J\xff\u202e")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("sou\x1b[1mrce\xfe", dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	link := filepath.Join(base, "link")
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(dir, strings.Repeat(strings.Repeat("x", 199)+"/", (4095-len(dir)-20)/200))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(deep, "\x1b[31m"+strings.Repeat("y", 4095-len(deep)-11)+"\xff.log")
	holder := testfuse.Hold(t, testfuse.FD, name)
	for _, query := range []string{dir, dir + "/", dir + "//deleted", dir + "/sub", filepath.Join(link, filepath.Base(dir)), base, filepath.Base(dir)} {
		o := finish(t, command(t, "holders", query))
		if o.status != exitDone || !strings.Contains(o.stdout, strconv.Itoa(holder.PID())) {
			t.Errorf("holders %q: status %d, want process %d in\n%s%s", query, o.status, holder.PID(), o.stdout, o.stderr)
		}
		if strings.HasPrefix(query, dir+"/") != strings.Contains(o.stdout, "is not a mount point") && query != dir+"/" && query != dir+"//deleted" {
			t.Errorf("holders %q says %s", query, o.stdout)
		}
		for line := range strings.Lines(o.stdout + o.stderr) {
			if line = strings.TrimSuffix(line, "\n"); !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("holders %q says %q", query, line)
			}
			if strings.Contains(line, strconv.Itoa(holder.PID())+" ") && (len(line) > 500 || !strings.HasSuffix(line, `\xff.log`)) {
				t.Errorf("holders %q says in %d bytes, want the end of the name: %q", query, len(line), line)
			}
		}
	}
	o := finish(t, command(t, "holders", "-o", "json", dir))
	var got struct{ Answers []report.MountHolders }
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || !utf8.ValidString(o.stdout) || strings.ContainsAny(o.stdout, "\x1b\x07") {
		t.Fatalf("%v\n%.500q", err, o.stdout)
	}
	if want := strings.ReplaceAll(name, "\xff", `\xff`); len(got.Answers[0].Mounts) != 1 || got.Answers[0].Mounts[0].Holders[0].Path != want {
		t.Errorf("answers %+v, want the path %q", got.Answers, want)
	}
	o = finish(t, command(t, "holders", "\x1b[2J\xff"))
	if o.status != exitFailed || !strings.Contains(o.stderr, `\x1b[2J\xff: no mount`) {
		t.Errorf("status %d, %q", o.status, o.stderr)
	}
}

// TestHoldersOfMany asks for many things at once.
func TestHoldersOfMany(t *testing.T) {
	args := []string{"holders", "--timeout", "10m", "-o", "json"} // other tests leave it little of the machine
	for i := range 50 {
		args = append(args, "/nothing/"+strconv.Itoa(i))
	}
	o := finish(t, command(t, args...))
	var got struct{ Answers []report.MountHolders }
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || len(got.Answers) != 50 || len(got.Answers[49].Mounts) != 1 {
		t.Fatalf("%v, %d answers, want 50 with one mount each\n%.300s", err, len(got.Answers), o.stdout)
	}
	o = finish(t, command(t, "holders", "/nothing/1"))
	said, _, _ := strings.Cut(o.stdout, "\nDetached mounts are in use.") // those of other tests
	if want := "/nothing/1 is not a mount point. It is on the mount at /\n"; !strings.HasPrefix(said, want) || strings.Contains(said, "PID") {
		t.Errorf("says %q, want %q and no processes", said, want)
	}
}

// TestHoldersWithoutRoot does not say that nobody holds a mount when it could not look.
func TestHoldersWithoutRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root: to become somebody else")
	}
	cmd := command(t, "holders", "/proc")
	file, err := os.Open(cmd.Path) // the way there may be closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	cmd.Path, cmd.ExtraFiles, cmd.Dir = "/proc/self/fd/3", []*os.File{file}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	o := finish(t, cmd)
	for _, want := range []string{"/proc: proc", "no open files in the processes that could be read", "does not run as root"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("holders does not say %q:\n%s%s", want, o.stdout, o.stderr)
		}
	}
}

// TestHoldersWithoutItself is run in the mount that it is asked for.
func TestHoldersWithoutItself(t *testing.T) {
	if !onNode(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	cmd := command(t, "holders", "-o", "json", ".")
	cmd.Dir = dir
	o := finish(t, cmd)
	var got struct{ Answers []report.MountHolders }
	if err := json.Unmarshal([]byte(o.stdout), &got); err != nil || len(got.Answers) != 1 || len(got.Answers[0].Mounts) != 1 {
		t.Fatalf("%v, %s%s", err, o.stdout, o.stderr)
	}
	if h := got.Answers[0].Mounts[0].Holders; len(h) > 0 {
		t.Errorf("holders %+v, want none: this program ends by itself", h)
	}
}

// TestHoldersInChroot looks from a chroot, where paths are others than those of the process that holds a mount, and where
// most processes that the mount table can be read through are in the same chroot.
func TestHoldersInChroot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount, chroot")
	}
	root := t.TempDir()
	for _, name := range []string{"proc", "dev", "data", "host"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const script = `set -e; mount -t tmpfs data $0/data; mount --rbind / $0/host; mount --rbind /proc $0/host/proc; cd $0/data; touch file
		sleep 1000 9<file & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done
		holder=$!; cd /
		for i in 1 2 3 4 5 6 7 8; do chroot $0/host sleep 1000 & others="$others $!"; done
		for i in 1 2 3 4 5; do chroot $0/host $1 holders $0/data --json; done
		kill $holder $others`
	cmd := command(t, "")
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", script, root, program(t, programName)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	o := finish(t, cmd)
	for d := json.NewDecoder(strings.NewReader(o.stdout)); d.More(); {
		var got struct{ Answers []report.MountHolders }
		if err := d.Decode(&got); err != nil || len(got.Answers) != 1 || len(got.Answers[0].Mounts) != 1 {
			t.Fatalf("%v, %s%s", err, o.stdout, o.stderr)
		}
		u := got.Answers[0].Mounts[0]
		if !slices.ContainsFunc(u.Elsewhere, func(h forensics.HolderProcess) bool {
			return h.Comm == "sleep" && h.Kind == "fd" && h.Device == u.Mount.Device && !h.Detached
		}) {
			t.Errorf("holders of the file system %+v, want the file that sleep has open outside", u.Elsewhere)
		}
	}
}

// TestHoldersLoseOutput wants to be told when what was printed is lost, and not when nobody wants to read it.
func TestHoldersLoseOutput(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = full.Close() }()
	cmd := command(t, "holders", "-o", "json", "/")
	cmd.Stdout = full
	if o := finish(t, cmd); o.status != exitFailed || !strings.Contains(o.stderr, "no space left") {
		t.Errorf("a full disk: status %d, %q", o.status, o.stderr)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	cmd = command(t, "holders", "-o", "json", "/")
	cmd.Stdout = out
	if o := finish(t, cmd); o.status != exitDone {
		t.Errorf("a closed pipe: status %d, %q", o.status, o.stderr)
	}
	_ = out.Close()
}

func TestHoldersOfNothing(t *testing.T) {
	t.Parallel()
	o := finish(t, command(t, "holders", "no-such-volume"))
	if o.status != exitFailed || !strings.Contains(o.stderr, "no-such-volume") {
		t.Errorf("status %d, %q; want 1 and the name", o.status, o.stderr)
	}
	if o := finish(t, command(t, "holders", "")); o.status != exitUsage {
		t.Errorf("an empty argument: status %d, want %d", o.status, exitUsage)
	}
	if o := finish(t, command(t, "holders")); o.status != exitUsage {
		t.Errorf("without an argument: status %d, want %d", o.status, exitUsage)
	}
}

// TestHoldersOfLeakedMount asks for a mount that only another namespace has, and who keeps it there.
func TestHoldersOfLeakedMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	uid := testfuse.NewUID()
	volume := "data.of." + strconv.Itoa(os.Getpid()) // and no other test's
	dir := filepath.Join(t.TempDir(), "pods", uid, "volumes/kubernetes.io~nfs", volume)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("server:/data", dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("mount: %v", err)
	}
	inside := exec.Command("sleep", "1000")
	inside.Dir = dir
	inside.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err := inside.Start()
	if unmount := unix.Unmount(dir, unix.MNT_DETACH); unmount != nil {
		t.Fatal(unmount)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = inside.Process.Kill()
		_ = inside.Wait()
	})
	pid := strconv.Itoa(inside.Process.Pid)
	for _, query := range []string{uid, strings.ReplaceAll(uid, "-", "_"), uid[:6], dir, volume} {
		o := finish(t, command(t, "holders", query))
		for _, want := range []string{dir + ": only in mount namespace", "1 process (sleep), pid " + pid, pid + "  cwd"} {
			if !strings.Contains(o.stdout, want) {
				t.Errorf("holders %s does not say %q:\n%s", query, want, o.stdout)
			}
		}
		o = finish(t, command(t, "holders", "-o", "json", query))
		var got struct{ Answers []report.MountHolders }
		if err := json.Unmarshal([]byte(o.stdout), &got); err != nil {
			t.Fatalf("%v in %s", err, o.stdout)
		}
		if !slices.ContainsFunc(got.Answers[0].Leaked, func(l report.LeakedHolders) bool { // another test may have copied it, too
			return l.Mount.MountPoint == dir && len(l.Holders) == 1 && slices.Equal(l.KeptBy.PIDs, []int{inside.Process.Pid})
		}) {
			t.Errorf("leaked %+v, want that of process %s", got.Answers[0].Leaked, pid)
		}
	}
}

// TestHoldersNameCopies asks for a mount that other namespaces have, too: one that keeps it when it is unmounted here, and one
// that receives the unmount, of which nothing is to be said.
func TestHoldersNameCopies(t *testing.T) {
	if !onNode(t) {
		return
	}
	above := t.TempDir()
	if err := unix.Mount("above", above, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(above, unix.MNT_DETACH) })
	dir := filepath.Join(above, "volume")
	if err := errors.Join(unix.Mount("", above, "", unix.MS_SHARED, ""), os.Mkdir(dir, 0o755), unix.Mount("volume", dir, "tmpfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	namespaces, pids := map[string]string{}, map[string]int{}
	for _, propagation := range []string{"private", "slave"} {
		cmd := exec.Command("unshare", "--mount", "--propagation", propagation, "sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		testfuse.Await(t, "sleep to run", func() bool { return commOf(t, cmd.Process.Pid) == "sleep" })
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		pids[propagation] = cmd.Process.Pid
		namespaces[propagation] = strings.Trim(link, "mnt:[]")
	}
	got := finish(t, command(t, "holders", dir)).stdout
	line := "mount namespace " + namespaces["private"] + " (an unmount here does not remove its copy at " + dir + "): 1 process (sleep)"
	if !strings.Contains(got, line) || strings.Contains(got, "namespace "+namespaces["slave"]) {
		t.Errorf("holders says of namespaces %v:\n%s", namespaces, got)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	for propagation, pid := range pids {
		table, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(table), " "+dir+" "); has != (propagation == "private") {
			t.Errorf("after the unmount, the %s namespace has the mount: %v", propagation, has)
		}
	}
}

// TestHoldersOfStackedMounts has a process with its working directory on the lower of two mounts. Its path names both: neither
// may be said to be held by nobody.
func TestHoldersOfStackedMounts(t *testing.T) {
	if !onNode(t) {
		return
	}
	dir := t.TempDir()
	for i := range 2 {
		if err := unix.Mount("stacked", dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		if i == 0 {
			testfuse.Hold(t, testfuse.Cwd, dir)
		}
	}
	o := finish(t, command(t, "holders", dir))
	if strings.Contains(o.stdout, "no open files") || !strings.Contains(o.stdout, "each is on one of the 2 mounts stacked here") {
		t.Errorf("holders says:\n%s", o.stdout)
	}
}

// TestHoldersNameDetached asks for a mount that was unmounted lazily while a file on it was open: no path leads there any more.
func TestHoldersNameDetached(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount")
	}
	dir := t.TempDir()
	if err := unix.Mount("detached", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	holder := testfuse.Hold(t, testfuse.FD, filepath.Join(dir, "kept"))
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{dir, "no-such-volume"} {
		o := finish(t, command(t, "holders", query))
		if !strings.Contains(o.stdout, "in no mount table") || !strings.Contains(o.stdout, strconv.Itoa(holder.PID())) || !strings.Contains(o.stdout, "/kept") {
			t.Errorf("holders %s says:\n%s", query, o.stdout)
		}
	}
}
