package collect_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestLeakedWithoutProcess unmounts a pod's volume that a namespace without processes goes on having, whatever keeps that.
func TestLeakedWithoutProcess(t *testing.T) {
	for name, c := range map[string]struct {
		keep  func(t *testing.T, namespace string) (says string) // begins to keep what the link stands for
		steps []string                                           // how the remedies begin
	}{
		"bind mount": {func(t *testing.T, namespace string) string {
			dir := t.TempDir()
			mountFor(t, "tmpfs", dir, "tmpfs", 0, "")
			mountFor(t, "", dir, "", unix.MS_PRIVATE, "") // else the namespace would hold itself
			pin := filepath.Join(dir, "pin")
			if err := os.WriteFile(pin, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			mountFor(t, namespace, pin, "", unix.MS_BIND, "")
			return "ns/mnt file at " + pin
		}, []string{"umount -c /"}},
		"descriptor": {func(t *testing.T, namespace string) string {
			file, err := os.Open(namespace)
			if err != nil {
				t.Fatal(err)
			}
			sleeper := exec.Command("sleep", "1000")
			sleeper.ExtraFiles = []*os.File{file}
			startUntilEnd(t, sleeper)
			_ = file.Close()
			return fmt.Sprintf("descriptor of process %d (sleep) keeps it alive", sleeper.Process.Pid)
		}, []string{"kill "}},
		"descriptor in the queue of a socket": {func(t *testing.T, namespace string) string {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) })
			fd, err := unix.Open(namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(fd), nil, 0); err != nil {
				t.Fatal(err)
			}
			_ = unix.Close(fd)
			return "What keeps mount namespace"
		}, []string{`sh -c 'grep -s "scm_fds:`}},
	} {
		t.Run(name, func(t *testing.T) {
			uid := testfuse.NewUID()
			dir := filepath.Join(t.TempDir(), "pods", uid, "volumes/kubernetes.io~cephfs/data")
			fuse := testfuse.Mount(t, dir, testfuse.Options{Type: "fuse.ceph-fuse", Source: "10.0.0.5:/k8s"})
			process := exec.Command("sleep", "1000")
			process.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
			startUntilEnd(t, process)
			link := fmt.Sprintf("/proc/%d/ns/mnt", process.Process.Pid)
			says := c.keep(t, link)
			number, err := os.Readlink(link)
			if err != nil {
				t.Fatal(err)
			}
			_ = process.Process.Kill()
			_ = process.Wait()
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Fatal(err)
			}
			fuse.Hang()
			e, err := collect.Holders(t.Context(), collect.Options{}, uid)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(e.MountUse.Foreign, func(l forensics.ForeignMount) bool { // another test may have copied it, too
				return l.Mount.MountPoint == dir && fmt.Sprintf("mnt:[%d]", l.Namespace) == number
			})
			if at < 0 {
				if len(e.MountUse.Uninhabited) == 0 {
					t.Skip("needs Linux 6.12 and root outside of containers")
				}
				t.Fatalf("leaked %+v, want the copy of %s in %s", e.MountUse.Foreign, dir, number)
			}
			l := e.MountUse.Foreign[at]
			if l.Mount.Device != fuse.Device() || l.Mount.Source != "10.0.0.5:/k8s" {
				t.Errorf("leaked %+v, want superblock %s", l, fuse.Device())
			}
			if link, err := os.Readlink("/proc/self/ns/user"); link != fmt.Sprintf("user:[%d]", l.Owner) {
				t.Errorf("owned by user namespace %d, want that of the test, %s (%v)", l.Owner, link, err)
			}
			e.Kubelet = &kubelet.Instance{RootDir: strings.TrimSuffix(dir, "/pods/"+uid+"/volumes/kubernetes.io~cephfs/data")}
			report := forensics.Analyze(&e, only(t, "mount-leaked-namespace"))
			found := slices.IndexFunc(report.Findings, func(f forensics.Finding) bool { return f.Subject == forensics.MountEntity(l.Mount.ID) })
			if found < 0 {
				t.Fatalf("findings %+v, want one of mount %d", report.Findings, l.Mount.ID)
			}
			f := report.Findings[found]
			if f.Severity != forensics.Warning || !strings.Contains(f.Title+"\n"+f.Detail, says) {
				t.Errorf("%s %q, want a warning that says %q", f.Severity, f.Title, says)
			}
			if len(f.Remedies) != len(c.steps) {
				t.Errorf("%d steps, want %d", len(f.Remedies), len(c.steps))
			}
			for i, step := range c.steps {
				if i >= len(f.Remedies) || !strings.HasPrefix(f.Remedies[i].String(), step) {
					t.Errorf("remedies %+v, want step %d to be %s…", f.Remedies, i, step)
				}
			}
			if n := fuse.Unanswered(); n != 0 {
				t.Errorf("the server was asked %d times", n)
			}
		})
	}
}
