package main

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// mountNow mounts until the test is over, and makes the mount point.
func mountNow(t testing.TB, source, point, fsType string, flags uintptr) {
	t.Helper()
	if err := os.MkdirAll(point, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(source, point, fsType, flags, ""); err != nil {
		t.Fatalf("mount %s on %s: %v", source, point, err)
	}
	t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) })
}

// TestKubeletDirectoryBoundOntoItself has the kubelet's directory as services make it shared: bound onto itself, once more
// with each start, as a peer of what it lies on. Each volume below it then is in the mount table several times.
func TestKubeletDirectoryBoundOntoItself(t *testing.T) {
	if !onNode(t) {
		return
	}
	for name, root := range map[string]string{"on a disk": "disk/kubelet", "a disk": "disk"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			root := filepath.Join(dir, root)
			mountNow(t, "disk", filepath.Join(dir, "disk"), "tmpfs", 0)
			if err := unix.Mount("", filepath.Join(dir, "disk"), "", unix.MS_SHARED, ""); err != nil {
				t.Fatal(err)
			}
			mountNow(t, root, root, "", unix.MS_BIND)
			mountNow(t, root, root, "", unix.MS_BIND)
			staged := filepath.Join(root, "plugins/kubernetes.io/csi/pv/one/globalmount")
			once, twice := volume{plugin: "kubernetes.io~csi", name: "one"}, volume{plugin: "kubernetes.io~csi", name: "two"}
			mountNow(t, "disk", staged, "tmpfs", 0)
			mountNow(t, staged, once.path(root, livePod), "", unix.MS_BIND)
			mountNow(t, staged, twice.path(root, livePod), "", unix.MS_BIND)
			startKubelet(t, root)
			if list := findings(examine(t, 0).report(t), "mount-stacked"); len(list) != 0 {
				t.Errorf("%d mount points have a stack, want none: %+v", len(list), list)
			}

			mountNow(t, staged, twice.path(root, livePod), "", unix.MS_BIND)
			// The volume is its own peer at three places, and has a mount on top at each of them now.
			list := findings(examine(t, 0).report(t), "mount-stacked")
			if len(list) != 3 {
				t.Fatalf("%d mount points have a stack, want 3: %+v", len(list), list)
			}
			for i, point := range []string{staged, once.path(root, livePod), twice.path(root, livePod)} {
				wantNamed(t, list[i], "2 mounts are stacked on "+point)
			}
		})
	}
}
