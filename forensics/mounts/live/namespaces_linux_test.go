package live

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// join moves the calling thread into the mount namespace of another.
func join(tid int) error {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", tid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return errors.Join(unix.Unshare(unix.CLONE_FS), unix.Setns(fd, unix.CLONE_NEWNS))
}

func TestNamespaces(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other := newGuest(t, func() error {
		return errors.Join(newNamespace(), unix.Mount("none", dir, "tmpfs", 0, ""))
	})
	same := newGuest(t, func() error { return join(other.tid) })
	jailed := newGuest(t, func() error { return errors.Join(join(other.tid), unix.Chroot(dir)) })
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	gone := ended.ProcessState.Pid()
	self := os.Getpid()
	host, inside := inode(t, self), inode(t, other.tid)
	for name, tc := range map[string]struct {
		pids []int
		want []mounts.Table // without the mounts
	}{
		"one for each": {
			[]int{gone, other.tid, self, same.tid},
			[]mounts.Table{{Namespace: inside, PID: other.tid, Root: "/"}, {Namespace: host, PID: self, Root: "/"}},
		},
		"order of the list": {
			[]int{self, same.tid, other.tid},
			[]mounts.Table{{Namespace: host, PID: self, Root: "/"}, {Namespace: inside, PID: same.tid, Root: "/"}},
		},
		"rather not through a chroot": {
			[]int{jailed.tid, self, other.tid, same.tid},
			[]mounts.Table{{Namespace: inside, PID: other.tid, Root: "/"}, {Namespace: host, PID: self, Root: "/"}},
		},
		"only a chroot": {
			[]int{jailed.tid},
			[]mounts.Table{{Namespace: inside, PID: jailed.tid, Root: dir}},
		},
		"nobody": {[]int{}, []mounts.Table{}},
		"gone":   {[]int{gone}, []mounts.Table{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, errs := Namespaces(t.Context(), openFS(t, "/"), tc.pids)
			if len(errs) != 0 {
				t.Error(errs)
			}
			for i := range got {
				at := got[i].Index().At("/" + strings.TrimPrefix(dir, got[i].Root))
				if want := got[i].Namespace == inside; (len(at) == 1) != want {
					t.Errorf("namespace %d: mounted on %s is %+v", got[i].Namespace, dir, at)
				}
				got[i].Mounts = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// startChild starts a process that leads a group of its own and stays until the test ends.
func startChild(t *testing.T, flags uintptr) (pid int) {
	t.Helper()
	child := exec.Command("cat")
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Setpgid: true}
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Skipf("needs root: %v", err)
	}
	t.Cleanup(func() { _, _ = stdin.Close(), child.Wait() })
	return child.Process.Pid
}

// TestNamespacesAll finds the namespace of a process among all of /proc.
func TestNamespacesAll(t *testing.T) {
	child := startChild(t, unix.CLONE_NEWNS)
	got, errs := Namespaces(t.Context(), openFS(t, "/"), nil)
	for _, err := range errs {
		if !errors.Is(err, fs.ErrPermission) { // a sandbox may hide some processes
			t.Error(err)
		}
	}
	pids := map[uint64]int{}
	for _, table := range got {
		if before, twice := pids[table.Namespace]; twice {
			t.Errorf("namespace %d twice: %d, %d", table.Namespace, before, table.PID)
		}
		pids[table.Namespace] = table.PID
		ours := table.PID == child || table.PID == os.Getpid() // another test's may be about to get another root
		if len(table.Mounts) == 0 && ours {
			t.Errorf("no mounts in the namespace of %d", table.PID)
		}
	}
	if pids[inode(t, child)] != child {
		t.Errorf("namespaces %v; want %d with process %d", pids, inode(t, child), child)
	}
	if pid := pids[inode(t, os.Getpid())]; pid == 0 {
		t.Errorf("namespaces %v; want that of the test", pids)
	}
}

// TestNamespacesDenied asks as nobody, who may not look at the processes of root.
func TestNamespacesDenied(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	fsys := openFS(t, "/")
	pids := []int{startChild(t, 0), startChild(t, 0)}
	var got []mounts.Table
	var errs []error
	onThread(func() {
		// Of this thread only: the function of the standard library changes them all.
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
			errs = []error{errno}
			return
		}
		got, errs = Namespaces(t.Context(), fsys, pids)
	})
	if len(got) != 0 || len(errs) != 1 || !errors.Is(errs[0], fs.ErrPermission) ||
		!strings.HasPrefix(errs[0].Error(), "mount namespaces of 2 processes: ") {
		t.Errorf("%d tables, errors %v; want none and one error for both", len(got), errs)
	}
}

func TestNamespacesNoProc(t *testing.T) {
	got, errs := Namespaces(t.Context(), openFS(t, t.TempDir()), nil)
	if got == nil || len(got) != 0 || len(errs) != 1 || !errors.Is(errs[0], fs.ErrNotExist) {
		t.Errorf("%v, %v; want no tables and fs.ErrNotExist", got, errs)
	}
}

func TestNamespacesOutOfTime(t *testing.T) {
	ctx := cancelled(t)
	got, errs := Namespaces(ctx, openFS(t, "/"), nil)
	if len(got) != 0 || len(errs) != 1 || !errors.Is(errs[0], ctx.Err()) {
		t.Errorf("%d tables, %v; want none and %v", len(got), errs, ctx.Err())
	}
}

func TestNamespacesShareStrings(t *testing.T) {
	fsys := openFS(t, "/")
	other := newGuest(t, newNamespace)
	got, errs := Namespaces(t.Context(), fsys, []int{os.Getpid(), other.tid})
	if len(errs) != 0 || len(got) != 2 {
		t.Fatal(len(got), errs)
	}
	a, okA := got[0].Index().Covering("/proc/x")
	b, okB := got[1].Index().Covering("/proc/x")
	if !okA || !okB || unsafe.StringData(a.MountPoint) != unsafe.StringData(b.MountPoint) {
		t.Errorf("%q and %q are two strings", a.MountPoint, b.MountPoint)
	}
}

// podMounts prints a table like that of a node with n mounts, most of them of pods.
func podMounts(n int) []byte {
	var b bytes.Buffer
	b.WriteString("27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n")
	b.WriteString("42 27 254:0 /var/lib/kubelet /var/lib/kubelet rw,relatime shared:2 - ext4 /dev/vda rw,discard\n")
	for i := 2; i < n; i++ {
		pod := fmt.Sprintf("/var/lib/kubelet/pods/%08x-c030-4996-b888-f032577d97b0", i/4)
		id := 100 + i
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, "%d 42 0:%d / %s/volumes/kubernetes.io~projected/kube-api-access-%d rw,relatime shared:%d - tmpfs tmpfs rw,size=3906250k\n", id, id, pod, i, id)
		case 1:
			fmt.Fprintf(&b, "%d 42 0:47 /volumes/pvc-%d %s/volumes/kubernetes.io~csi/pvc-%d/mount rw,nosuid,nodev,relatime shared:%d - ceph 10.0.0.5:6789:/k8s rw,name=admin,secret=<hidden>,acl\n", id, i, pod, i, id)
		case 2:
			fmt.Fprintf(&b, "%d 42 0:47 /volumes/pvc-%d %s/volume-subpaths/pvc-%d/app/0 rw,nosuid,nodev,relatime shared:%d - ceph 10.0.0.5:6789:/k8s rw,name=admin,secret=<hidden>,acl\n", id, i, pod, i, id)
		case 3:
			fmt.Fprintf(&b, "%d 27 0:%d / /run/containerd/io.containerd.runtime.v2.task/k8s.io/%064x/rootfs rw,relatime shared:%d - overlay overlay rw,lowerdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs,upperdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/%d/fs,workdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/%d/work\n", id, id, i, id, i, i)
		}
	}
	return b.Bytes()
}

// BenchmarkNamespaces reads 50 namespaces of 3,000 mounts each.
func BenchmarkNamespaces(b *testing.B) {
	root := b.TempDir()
	text := podMounts(3000)
	for pid := range 50 {
		dir := fmt.Sprintf("%s/proc/%d", root, pid+1)
		if err := errors.Join(
			os.MkdirAll(dir+"/ns", 0o755),
			os.Symlink(fmt.Sprintf("mnt:[%d]", pid), dir+"/ns/mnt"),
			os.Symlink("/", dir+"/root"),
			os.WriteFile(dir+"/mountinfo", text, 0o600),
		); err != nil {
			b.Fatal(err)
		}
	}
	fsys := openFS(b, root)
	b.SetBytes(int64(50 * len(text)))
	b.ReportAllocs()
	var tables []mounts.Table
	for b.Loop() {
		var errs []error
		if tables, errs = Namespaces(b.Context(), fsys, nil); len(tables) != 50 || len(errs) != 0 {
			b.Fatal(len(tables), errs)
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB-kept")
	runtime.KeepAlive(tables)
}
