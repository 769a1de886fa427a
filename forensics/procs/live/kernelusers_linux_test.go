package live

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/foreign"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
)

func mkdirs(t *testing.T, base string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKernelHolders uses a mount in the ways that a test can, and sees whether umount agrees with what is said of them.
func TestKernelHolders(t *testing.T) {
	for _, c := range []struct {
		use    holders.KernelUse
		blocks bool
		with   func(t *testing.T, dir string)
	}{
		{holders.UseMount, true, func(t *testing.T, dir string) {
			mkdirs(t, dir, "below")
			mountAt(t, "tmpfs", filepath.Join(dir, "below"), "tmpfs", 0, "")
		}},
		{holders.UseBind, false, func(t *testing.T, dir string) {
			to := t.TempDir()
			if err := unix.Mount(dir, to, "", unix.MS_BIND, ""); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) })
		}},
		{holders.UseOverlay, false, func(t *testing.T, dir string) {
			mkdirs(t, dir, "lower", "upper", "work")
			to := t.TempDir()
			data := "lowerdir=" + dir + "/lower,upperdir=" + dir + "/upper,workdir=" + dir + "/work"
			if err := unix.Mount("overlay", to, "overlay", 0, data); err != nil {
				t.Skipf("overlay: %v", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) })
		}},
		{holders.UseLoop, true, func(t *testing.T, dir string) {
			image := filepath.Join(dir, "image")
			if err := os.WriteFile(image, make([]byte, 1<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("losetup", "--show", "-f", image).Output()
			if err != nil {
				t.Skipf("needs loop devices: %v", err)
			}
			device := string(out[:len(out)-1])
			t.Cleanup(func() { _ = exec.Command("losetup", "-d", device).Run() })
		}},
		{holders.UseSocket, true, func(t *testing.T, dir string) {
			l, err := net.Listen("unix", filepath.Join(dir, "socket"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
		}},
		{holders.UseBinfmt, true, func(t *testing.T, dir string) { interpret(t, writeFile(t, dir, "interpreter"), "F") }},
		{"binfmt without flag F", false, func(t *testing.T, dir string) { interpret(t, writeFile(t, dir, "interpreter"), "") }},
		{holders.UseUprobe, true, func(t *testing.T, dir string) {
			const tracing = "/sys/kernel/tracing"
			if _, err := os.Stat(tracing + "/uprobe_events"); err != nil {
				if err := unix.Mount("tracefs", tracing, "tracefs", 0, ""); err != nil {
					t.Skipf("tracefs: %v", err)
				}
				t.Cleanup(func() { _ = unix.Unmount(tracing, unix.MNT_DETACH) })
			}
			event := fmt.Sprintf("nodeforensics/test%d", os.Getpid())
			appendTo(t, tracing+"/uprobe_events", "p:"+event+" "+writeFile(t, dir, "pro:gram")+":0x10 arg=%ip\n")
			t.Cleanup(func() { appendTo(t, tracing+"/uprobe_events", "-:"+event+"\n") })
		}},
		{holders.UseImage, true, func(t *testing.T, dir string) {
			if err := unix.Mount("ramfs", dir, "ramfs", 0, ""); err != nil { // the kernel mounts no image that is on tmpfs
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
			to, image := t.TempDir(), writeFile(t, dir, "image")
			if err := os.WriteFile(image, emptyEROFS(), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount(image, to, "erofs", unix.MS_RDONLY, ""); err != nil {
				t.Skipf("needs Linux 6.12: erofs: %v", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) })
		}},
	} {
		t.Run(string(c.use), func(t *testing.T) {
			dir := t.TempDir()
			mountAt(t, "tmpfs", dir, "tmpfs", 0, "")
			c.with(t, dir)
			fsys, err := hostfs.Open("/")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = fsys.Close() }()
			table, err := mountslive.Read(t.Context(), fsys, 0)
			if err != nil {
				t.Fatal(err)
			}
			at := table.Index().At(dir)
			at = at[len(at)-1:]
			list, errs := KernelHolders(t.Context(), fsys, &table, func(m *mounts.Mount) bool { return m.ID == at[0].ID }, nil)
			if len(errs) > 0 {
				t.Error(errs)
			}
			found := false
			for _, u := range list {
				if u.Use != c.use && u.Use != holders.UseBind {
					t.Errorf("%+v was invented", u)
				}
				if u.Use == c.use {
					found = true
					if u.Blocks != c.blocks || u.MountID != at[0].ID || u.Device != at[0].Device {
						t.Errorf("%+v, want blocks = %v", u, c.blocks)
					}
				}
			}
			if known := !strings.Contains(string(c.use), " "); found != known {
				t.Errorf("no %s among %+v", c.use, list)
			}
			if err := unix.Unmount(dir, 0); (err == unix.EBUSY) != c.blocks {
				t.Errorf("umount: %v, but blocks = %v", err, c.blocks)
			}
		})
	}
}

// TestLoopInUse has a file system on a loop device, which has to go before that. One is mounted by another name of the device, as those of
// /dev/disk are: it is known by its number.
func TestLoopInUse(t *testing.T) {
	for _, c := range []struct{ fsType, size, mount string }{
		{"ext4", "8M", `mount -o loop "$1" "$2"`},
		{"btrfs", "200M", `mount -o loop "$1" "$2"`},
		{"ext4", "8M", `d=$(losetup --find --show "$1") && mknod "$3" b $(stat -c '0x%t 0x%T' "$d") && mount "$3" "$2" && losetup -d "$d"`}, // goes when it is not mounted
	} {
		t.Run(c.fsType, func(t *testing.T) {
			dir, to := t.TempDir(), t.TempDir()
			mountAt(t, "tmpfs", dir, "tmpfs", 0, "")
			image := dir + "/image"
			for _, command := range [][]string{{"truncate", "-s", c.size, image}, {"mkfs." + c.fsType, "-q", image}, {"sh", "-ec", c.mount, "sh", image, to, t.TempDir() + "/device"}} {
				if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
					t.Skipf("%s: %v %s", command[0], err, out)
				}
			}
			t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) })
			fsys, err := hostfs.Open("/")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = fsys.Close() }()
			table, err := mountslive.Read(t.Context(), fsys, 0)
			if err != nil {
				t.Fatal(err)
			}
			id := table.Index().At(dir)[0].ID
			list, errs := KernelHolders(t.Context(), fsys, &table, func(m *mounts.Mount) bool { return m.ID == id }, nil)
			if len(errs) > 0 || len(list) != 1 || list[0].Use != holders.UseLoop || !slices.Equal(list[0].UsedBy, []string{to}) {
				t.Errorf("users %+v, %v; want a loop device that %s uses", list, errs, to)
			}
		})
	}
}

// writeFile makes a file that is long enough for a program.
func writeFile(t *testing.T, dir, name string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, make([]byte, 4096), 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// interpret makes a file the interpreter of what no file begins with.
func interpret(t *testing.T, file, flags string) {
	t.Helper()
	const dir = "/proc/sys/fs/binfmt_misc"
	if _, err := os.Stat(dir + "/register"); err != nil {
		if err := unix.Mount("binfmt_misc", dir, "binfmt_misc", 0, ""); err != nil {
			t.Skipf("binfmt_misc: %v", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	}
	name := fmt.Sprintf("nodeforensics-test-%d", os.Getpid())
	appendTo(t, dir+"/register", ":"+name+":M::"+name+"::"+file+":"+flags)
	t.Cleanup(func() { appendTo(t, dir+"/"+name, "-1") })
}

// emptyEROFS is the image of an erofs with an empty directory, as mkfs.erofs(1) makes it.
func emptyEROFS() []byte {
	image := make([]byte, 4096)
	for at, bytes := range map[int]string{
		0x400: "\xe2\xe1\xf5\xe0\x67\xa1\x96\xba\x03\x00\x00\x00\x0c\x00\x24\x00\x01", 0x424: "\x01", 0x43f: "\x01",
		0x480: "\x04\x00\x00\x00\xed\x41\x02\x00\x1b", 0x490: "\xff\xff\xff\xff", 0x4a0: "\x24", 0x4a8: "\x18\x00\x02\x00\x24",
		0x4b4: "\x19\x00\x02\x00...",
	} {
		copy(image[at:], bytes)
	}
	return image
}

func TestKernelHoldersOfFiles(t *testing.T) {
	root := t.TempDir()
	mkdirs(t, root, "proc/fs/nfsd", "proc/net", "sys/dev/block/8:1/holders/dm-0")
	for name, text := range map[string]string{
		"proc/swaps":           "Filename\t\t\t\tType\t\tSize\tUsed\tPriority\n/data/swap\\040file                               file\t\t1024\t0\t-2\n/dev/sda2                               partition\t1024\t0\t-3\n",
		"proc/fs/nfsd/exports": "# Version 1.1\n# Path Client(Flags) # IPs\n/data/export\t10.0.0.0/8(rw)\n",
		"proc/net/unix":        "Num       RefCount Protocol Flags    Type St Inode Path\n0000: 00000002 00000000 00010000 0001 01 77 /data/a b.sock\n0000: 00000002 00000000 00010000 0001 01 78 @abstract\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fsys, err := hostfs.Open(root)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = fsys.Close() }()
	table := mounts.Table{Mounts: []mounts.Mount{
		{ID: 1, Device: "254:0", MountPoint: "/", Class: mounts.ClassBlock},
		{ID: 2, ParentID: 1, Device: "8:1", MountPoint: "/data", Class: mounts.ClassBlock},
	}}
	list, errs := KernelHolders(t.Context(), fsys, &table, func(m *mounts.Mount) bool { return m.ID == 2 }, nil)
	if len(errs) > 0 {
		t.Error(errs)
	}
	got := map[holders.KernelUse]string{}
	for _, u := range list {
		got[u.Use] = u.What
	}
	for use, what := range map[holders.KernelUse]string{
		holders.UseSwap: "/data/swap file", holders.UseExport: "/data/export", holders.UseSocket: "/data/a b.sock", holders.UseDevice: "/dev/dm-0",
	} {
		if got[use] != what {
			t.Errorf("%s: %q, want %q (%+v)", use, got[use], what, list)
		}
	}
	if len(list) != 4 {
		t.Errorf("%d users, want 4: %+v", len(list), list)
	}
}

// TestLeaked has a container that shows the host's disk at /host, and else its own root.
func TestLeaked(t *testing.T) {
	host := mounts.Table{Mounts: []mounts.Mount{
		{ID: 1, Device: "254:0", Root: "/", MountPoint: "/"},
		{ID: 2, ParentID: 1, Device: "0:50", Root: "/", MountPoint: "/pods/v"},
		{ID: 3, ParentID: 1, Device: "254:1", Root: "/sub", MountPoint: "/pods"},
		{ID: 4, ParentID: 1, Device: "0:70", Root: "/", MountPoint: "/layers"},
	}}
	const onHost, onData, onRoot = 11, 12, 10 // what mounts of the container lie on
	other := []mounts.Mount{
		{ID: onRoot, ParentID: 9, Device: "0:77", Root: "/", MountPoint: "/"},
		{ID: onHost, ParentID: onRoot, Device: "254:0", Root: "/", MountPoint: "/host"},
		{ID: onData, ParentID: onRoot, Device: "254:1", Root: "/sub/deep", MountPoint: "/data"},
	}
	inHost := func(p string) bool { return strings.HasPrefix(p, "/pods/") }
	for name, c := range map[string]struct {
		m    mounts.Mount
		want bool
		on   string
	}{
		"a kubelet mount that the host has":                 {mounts.Mount{Device: "0:50", Root: "/", ParentID: onHost, MountPoint: "/host/pods/a", Class: mounts.ClassMemory}, false, ""},
		"a kubelet mount that the host lost":                {mounts.Mount{Device: "0:51", Root: "/", ParentID: onHost, MountPoint: "/host/pods/a", Class: mounts.ClassMemory}, true, "/pods/a"},
		"another root of a file system":                     {mounts.Mount{Device: "0:50", Root: "/sub", ParentID: onHost, MountPoint: "/host/pods/a", Class: mounts.ClassMemory}, true, "/pods/a"},
		"by a bind mount of a part of the host's directory": {mounts.Mount{Device: "0:51", Root: "/", ParentID: onData, MountPoint: "/data/a", Class: mounts.ClassMemory}, true, "/pods/deep/a"},
		"onto the bind mount itself":                        {mounts.Mount{Device: "0:51", Root: "/", ParentID: onData, MountPoint: "/data", Class: mounts.ClassMemory}, true, "/pods/deep"},
		"a path of the host's that a container has made":    {mounts.Mount{Device: "0:51", Root: "/", ParentID: onRoot, MountPoint: "/pods/a", Class: mounts.ClassMemory}, false, ""},
		"a path on what is not in the table":                {mounts.Mount{Device: "0:51", Root: "/", ParentID: 5, MountPoint: "/pods/a", Class: mounts.ClassMemory}, false, ""},
		"a name that only begins like that of its parent":   {mounts.Mount{Device: "0:51", Root: "/", ParentID: onHost, MountPoint: "/hostpods/a", Class: mounts.ClassMemory}, false, ""},
		"a directory deeper than any of the kubelet's":      {mounts.Mount{Device: "0:51", Root: "/", ParentID: onHost, MountPoint: "/host/pods" + strings.Repeat("/a", 100), Class: mounts.ClassMemory}, false, ""},
		"a tmpfs of a container":                            {mounts.Mount{Device: "0:52", Root: "/", ParentID: onRoot, MountPoint: "/dev/shm", Class: mounts.ClassMemory}, false, ""},
		"a directory of the host in a container":            {mounts.Mount{Device: "254:0", Root: "/srv", ParentID: onRoot, MountPoint: "/srv", Class: mounts.ClassBlock}, false, ""},
		"NFS that the host lost":                            {mounts.Mount{Device: "0:53", Root: "/", ParentID: onRoot, MountPoint: "/data", Class: mounts.ClassNetwork}, true, ""},
		"NFS on a directory of the host":                    {mounts.Mount{Device: "0:53", Root: "/", ParentID: onHost, MountPoint: "/host/mnt", Class: mounts.ClassNetwork}, true, "/mnt"},
	} {
		t.Run(name, func(t *testing.T) {
			c.m.ID = 20
			got := foreign.NewLeaks(&host).In(&mounts.Table{Mounts: append(slices.Clone(other), c.m)}, inHost)
			if (len(got) == 1) != c.want || c.want && got[0].On != c.on {
				t.Fatalf("leaked %+v, want %v on %q", got, c.want, c.on)
			}
			for _, l := range got {
				back := mounts.Table{Mounts: append(slices.Clone(host.Mounts), c.m)}
				if !l.Gone(&host) || l.Gone(&back) {
					t.Errorf("gone from the host: %v, and from one that has it again: %v", l.Gone(&host), l.Gone(&back))
				}
			}
		})
	}
}
