package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestHoldersOfAPodByName asks for pods by namespace/name, which the directories of container logs tell.
func TestHoldersOfAPodByName(t *testing.T) {
	if !onNode(t) {
		return
	}
	if err := unix.Mount("none", "/var/log", "tmpfs", 0, ""); err != nil {
		t.Skipf("mount: %v", err)
	}
	root := t.TempDir()
	pods := map[string][]string{"shop_cart-0": {testfuse.NewUID(), testfuse.NewUID()}, "shop_idle": {testfuse.NewUID()}}
	for name, uids := range pods {
		for i, uid := range uids {
			dir := filepath.Join(root, "pods", uid, "volumes/kubernetes.io~nfs/data-"+strconv.Itoa(i))
			if err := errors.Join(os.MkdirAll("/var/log/pods/"+name+"_"+uid, 0o755), os.MkdirAll(dir, 0o755)); err != nil {
				t.Fatal(err)
			}
			if name == "shop_idle" {
				continue
			}
			if err := unix.Mount("server:/data", dir, "tmpfs", 0, ""); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
		}
	}
	o := finish(t, command(t, "holders", "shop/cart-0"))
	if o.status != exitDone || !strings.Contains(o.stderr, "shop/cart-0 is the name of 2 pods") {
		t.Errorf("exit status %d, %q", o.status, o.stderr)
	}
	for _, uid := range pods["shop_cart-0"] {
		if !strings.Contains(o.stdout, uid) || !strings.Contains(o.stderr, uid) {
			t.Errorf("pod %s is not in the answer:\n%s%s", uid, o.stdout, o.stderr)
		}
	}
	if o := finish(t, command(t, "holders", "shop/idle")); o.status != exitFailed || !strings.Contains(o.stderr, pods["shop_idle"][0]+") has no mounts") {
		t.Errorf("a pod without mounts: exit status %d, %q", o.status, o.stderr)
	}
	if o := finish(t, command(t, "holders", "shop/cart-7")); o.status != exitFailed || o.stdout != "" || !strings.Contains(o.stderr, "no pod has that name") {
		t.Errorf("no pod: exit status %d, %q%q", o.status, o.stdout, o.stderr)
	}
	cmd := command(t, "holders", "shop/cart-0") // a mount of that path is what is meant
	dir := filepath.Join(cmd.Dir, "shop/cart-0")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	if o := finish(t, cmd); o.status != exitDone || !strings.HasPrefix(o.stdout, dir+": ") {
		t.Errorf("a mount: exit status %d, %q%q", o.status, o.stdout, o.stderr)
	}
}
