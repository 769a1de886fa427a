package collect_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// stackEnv names the directory on which a child stacks mounts.
const stackEnv = "NODEFORENSICS_TEST_STACK"

// stackDepth mounts with a source of so many bytes are more than is read of the table of another namespace. To make and to write such a
// table takes the kernel a time that grows with the square of the mounts, and all who read tables at that time, other tests among them.
const stackDepth, stackSource = 2_500, 2_000

// The child is a process of user 65534 in user and mount namespaces of its own, as any pod with user namespaces has, that
// mounts file systems on each other and then waits for its end. It becomes that before there are other threads.
func init() {
	dir := os.Getenv(stackEnv)
	if dir == "" {
		return
	}
	for i := range stackDepth {
		if err := unix.Mount(fmt.Sprintf("%0*d", stackSource, i), dir, "tmpfs", 0, "size=4k"); err != nil {
			_, _ = os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
	}
	_, _ = os.Stdout.WriteString("ready\n")
	time.Sleep(time.Hour)
	os.Exit(0)
}

func stackMounts(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.Dir = append(os.Environ(), stackEnv+"="+dir), "/"
	nobody := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 65534, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, UidMappings: nobody, GidMappings: nobody,
		Credential: &syscall.Credential{NoSetGroups: true}, Pdeathsig: syscall.SIGKILL,
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startUntilEnd(t, cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("no stack of mounts could be made: %q %v", line, err)
	}
}

// TestStackOfMountsCostsNothingElse has a mount that the host has unmounted and another namespace still has, beside a pod's
// stack of mounts, whose table is too long, or takes the kernel longer to write than there is time for.
func TestStackOfMountsCostsNothingElse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: mount namespaces")
	}
	leaked := filepath.Join(t.TempDir(), "pods", testfuse.NewUID(), "volumes", "kubernetes.io~csi", "data", "mount")
	if err := os.MkdirAll(leaked, 0o755); err != nil {
		t.Fatal(err)
	}
	mountFor(t, "leaky", leaked, "tmpfs", 0, "")
	sleeper := exec.Command("sleep", "1000")
	sleeper.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Unshareflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	startUntilEnd(t, sleeper)
	if err := unix.Unmount(leaked, 0); err != nil {
		t.Fatal(err)
	}
	stackMounts(t)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // beside all other tests 4 s were too few
	defer cancel()
	e, err := collect.Holders(ctx, collect.Options{}, leaked)
	if err != nil || ctx.Err() != nil {
		t.Fatalf("it did not end in time: %v %v", err, ctx.Err())
	}
	if e.MountUse == nil || !slices.ContainsFunc(e.MountUse.Foreign, func(l forensics.ForeignMount) bool { return l.Mount.MountPoint == leaked }) {
		t.Errorf("the leaked mount is not among %+v", e.MountUse)
	}
	i := slices.IndexFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == forensics.SourceHolders })
	if i < 0 || e.Coverage[i].Status != forensics.SourceTruncated {
		t.Fatalf("coverage %+v: want holders truncated", e.Coverage)
	}
	if all := strings.Join(e.MountUse.Unseen, "; "); !strings.Contains(all, "too many mounts") && !strings.Contains(all, "takes too long") {
		t.Errorf("nothing says what was left out: %s", all)
	}
}
