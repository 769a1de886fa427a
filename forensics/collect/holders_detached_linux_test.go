package collect_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// pidNamespaceEnv makes this test binary a process in a PID namespace of its own; its value is a directory to mount
// something on, and the mount point of a FUSE file system, with a colon between.
const pidNamespaceEnv = "NODEFORENSICS_TEST_PID_NAMESPACE"

// TestDetachedNeedsAllProcesses has a process with an open file on a mount that is in no table which it sees, one that was
// unmounted lazily. In another PID namespace than the first one that is not said: the mount may be in the table of a namespace
// whose processes are not seen, as for a file that was handed to a container. Neither is it said of a FUSE file system that it
// has no server.
func TestDetachedNeedsAllProcesses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: namespaces")
	}
	dir, served, inside := strings.Cut(os.Getenv(pidNamespaceEnv), ":")
	if !inside {
		dir, served = t.TempDir(), testfuse.Mount(t, t.TempDir(), testfuse.Options{}).MountPoint()
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestDetachedNeedsAllProcesses$", "-test.v")
		cmd.Env = append(os.Environ(), pidNamespaceEnv+"="+dir+":"+served)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: ") {
			t.Errorf("in another PID namespace: %v\n%s", err, out)
		}
	} else {
		must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		must(t, unix.Mount("proc", "/proc", "proc", 0, ""))
	}
	link, err := os.Readlink("/proc/self/ns/pid")
	must(t, err)
	all := link == "pid:[4026531836]"
	if all == inside {
		t.Skipf("in the PID namespace %s", link)
	}
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, ""))
	holder := exec.Command("sleep", "1000")
	file, err := os.Create(dir + "/file")
	must(t, err)
	holder.ExtraFiles = []*os.File{file}
	startUntilEnd(t, holder)
	_ = file.Close()
	must(t, unix.Unmount(dir, unix.MNT_DETACH))
	e, err := collect.Holders(t.Context(), collect.Options{}, dir, served)
	must(t, err)
	uses := forensics.NewModel(&e).Uses()
	claimed := slices.ContainsFunc(e.MountUse.Holders, func(h holders.Holder) bool { return h.PID == holder.Process.Pid && uses.Detached(h) })
	if claimed != all {
		t.Errorf("detached: %v, want %v: %+v", claimed, all, e.MountUse.Holders)
	}
	for _, h := range e.MountUse.Holders {
		if uses.Detached(h) && !all {
			t.Errorf("%v is said to be on a mount that is in no table", h)
		}
	}
	for _, s := range uses.AllServers() {
		if s.PID == 0 {
			t.Errorf("%s is said to have no server: %s", served, s.Why)
		}
	}
	if mounted := collect.FindMounts(&e.Mounts, served); len(mounted) != 1 {
		t.Errorf("mounts at %s: %+v, want one", served, mounted)
	}
	const unseen = "processes outside the PID namespace of nodeforensics"
	if slices.Contains(e.MountUse.Unseen, unseen) == all {
		t.Errorf("unseen %q, want %q there: %v", e.MountUse.Unseen, unseen, !all)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
