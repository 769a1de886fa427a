package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// tracedCalls are those that could change something on the node; strace passes over those that a machine lacks.
const tracedCalls = `open openat openat2 creat rename renameat renameat2 unlink unlinkat rmdir mkdir mkdirat link linkat
	symlink symlinkat mknod mknodat chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat truncate ftruncate fallocate
	utime utimes utimensat futimesat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr setxattrat
	mount umount umount2 pivot_root move_mount fsopen fsmount fspick open_tree mount_setattr swapon swapoff
	kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal process_vm_writev process_madvise ptrace reboot
	init_module finit_module delete_module sethostname settimeofday clock_settime adjtimex bpf setns unshare execve execveat`

var (
	traceLine = regexp.MustCompile(`^(\d+) +(\w+)\((.*)$`)
	pathArg   = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	// belowDir is a name below an open directory, as strace -y writes it.
	belowDir  = regexp.MustCompile(`\b[0-9]+<(/[^>]*)>, "([^"/][^"]*)"`)
	openWrite = regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|__O_TMPFILE|O_TMPFILE`)
)

func TestNothingIsChangedOutsideTheOutputDirectory(t *testing.T) {
	if !onNode(t) {
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace")
	}
	root := t.TempDir()
	dead, gone := mountVolume(t, root, testfuse.NewUID(), someVolume()), mountVolume(t, root, livePod, someVolume())
	mountLoop(t, volume{plugin: "kubernetes.io~csi", name: "disk"}.path(root, livePod))
	gone.Kill()
	startKubelet(t, root)
	hangUnder(t, dead)
	out, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	cmd := exec.CommandContext(t.Context(), strace, "-f", "-y", "--seccomp-bpf", "-qq", "-s", "4096", "-o", log,
		"-e", "trace=?"+strings.Join(strings.Fields(tracedCalls), ",?"),
		program(t, programName), "--output-dir", out, "--hung-after", "1s")
	wait := start(t, cmd)
	testfuse.Await(t, "the report", func() bool {
		return len(namesIn(t, out)) == 2 && !strings.Contains(strings.Join(namesIn(t, out), ""), ".tmp")
	})
	dead.Heal() // strace waits for the collector, which waits for the mount
	if o := wait(); o.status != exitDone {
		t.Fatalf("exit status %d: %s", o.status, o.stderr)
	}
	wantCulprit(t, readReport(t, onlyFile(t, out, ".json")), dead, chainOfHousekeeping)

	written := 0
	for line := range strings.Lines(readFile(t, log)) {
		line = strings.TrimSpace(line)
		line = belowDir.ReplaceAllString(line, `"$1/$2"`)
		m := traceLine.FindStringSubmatch(line)
		if m == nil {
			continue // a signal, or the rest of a call that was seen before
		}
		if why := changes(t, m[2], m[3], out); why != "" {
			t.Errorf("%s: %s", why, line)
		}
		if strings.Contains(m[3], out) && strings.Contains(m[3], "O_CREAT") {
			written++
		}
	}
	if written != 2 {
		t.Errorf("strace saw %d files being made, want 2: it has missed something", written)
	}
}

// changes says why a system call is not allowed, "" if it is.
func changes(t testing.TB, call, args, out string) string {
	paths := []string{}
	for _, m := range pathArg.FindAllStringSubmatch(args, -1) {
		paths = append(paths, m[1])
	}
	switch call {
	case "open", "openat", "openat2":
		switch {
		case !openWrite.MatchString(args):
			return ""
		case len(paths) == 1 && (paths[0] == "/proc/self/oom_score_adj" || paths[0] == "/proc/self/comm") && !strings.Contains(args, "O_CREAT"):
			return "" // the collector's own
		case len(paths) == 1 && paths[0] == os.DevNull:
			return ""
		}
	case "execve":
		if len(paths) > 0 && (paths[0] == "/proc/self/exe" || paths[0] == program(t, programName)) {
			return ""
		}
		if len(paths) > 0 && strings.HasSuffix(paths[0], "/journalctl") {
			return "" // the one that reads the journal, and only reads
		}
		return "another program is run"
	case "tgkill":
		if strings.Contains(args, "SIGURG") {
			return "" // the Go runtime wakes its own threads
		}
		return "a signal is sent"
	case "pidfd_send_signal":
		if strings.Contains(args, ", 0, NULL") {
			return "" // the Go runtime asks whether there is such a call
		}
		return "a signal is sent"
	case "kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo":
		return "a signal is sent"
	case "ptrace":
		if strings.HasPrefix(args, "PTRACE_TRACEME") {
			return "" // a process of our own that is started to be counted, and is killed before its first instruction
		}
		return "another process is traced"
	case "creat", "link", "linkat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat":
	default:
		return "the node is changed"
	}
	for _, path := range paths {
		if !strings.HasPrefix(path, out+"/") {
			return "something is written outside of " + out
		}
	}
	if len(paths) == 0 {
		return "something is written"
	}
	return ""
}
