package hostfs

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// automount makes dir a trigger whose daemon never does anything, and returns a function that says whether the kernel
// has asked the daemon since the last time. Whoever touches the trigger waits, and then whoever comes near it does.
func automount(t *testing.T, dir string) (triggered func() bool) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	daemon := exec.Command("cat") // any process group but the test's own: a daemon's is let through
	daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := daemon.StdinPipe()
	must(t, err)
	if err := daemon.Start(); err != nil {
		t.Skipf("a process that stands for the daemon: %v", err)
	}
	t.Cleanup(func() { _, _ = input.Close(), daemon.Wait() })
	var pipe [2]int
	must(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_DIRECT))
	t.Cleanup(func() { _, _ = unix.Close(pipe[0]), unix.Close(pipe[1]) })
	options := fmt.Sprintf("fd=%d,pgrp=%d,minproto=5,maxproto=5,direct", pipe[1], daemon.Process.Pid)
	if err := unix.Mount("automount", dir, "autofs", 0, options); err != nil {
		t.Skipf("mounting autofs: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) })
	return func() bool {
		n, _ := unix.Read(pipe[0], make([]byte, 4096))
		return n > 0
	}
}

// nearAutomount does everything that may come near the trigger "home" but must not touch it.
func nearAutomount(t *testing.T, f *FS, d *Dir) {
	crosses(t, d, "home")
	if entries, err := d.Entries(10); err != nil || len(entries) != 3 {
		t.Errorf("entries %v, %v", entries, err)
	}
	if data, err := d.ReadFile("homes/file", 10); err != nil || string(data) != "x" {
		t.Errorf("the neighbour: %q, %v", data, err)
	}
	for _, path := range []string{"/home", "/home/x", "/link", "/link/x", "/homes/../home"} {
		_, err := f.Resolve(path)
		wantErr(t, "Resolve of "+path, err, nodefs.ErrCrossesMount)
		_, err = f.ReadFile(path, 10)
		wantErr(t, "ReadFile of "+path, err, nodefs.ErrCrossesMount)
		_, err = f.OpenDir(path)
		wantErr(t, "OpenDir of "+path, err, nodefs.ErrCrossesMount)
	}
	_, err := f.Lstat("/home")
	wantErr(t, "Lstat", err, nodefs.ErrCrossesMount)
	if target, err := f.ReadLink("/link"); err != nil || target != "home" {
		t.Errorf("%q, %v", target, err)
	}
}

func TestAutomount(t *testing.T) {
	root := tree(t, map[string]string{"home/": "", "homes/file": "x", "link": "-> home"})
	triggered := automount(t, root+"/home")
	test := func(t *testing.T, weak bool) {
		f := openFS(t, root, weak)
		d := openDir(t, root, weak)
		done := make(chan struct{})
		go func() {
			defer close(done)
			nearAutomount(t, f, d)
		}()
		waitOrFail(t, done)
	}
	t.Run("idle", func(t *testing.T) {
		both(t, test)
		if triggered() {
			t.Error("the daemon was asked to mount")
		}
	})
	t.Run("pending", func(t *testing.T) { // now O_PATH waits, and openat2 with RESOLVE_NO_XDEV before Linux 6.18
		testfuse.HoldStat(t, root+"/home/file")
		testfuse.Await(t, "the daemon to be asked", triggered)
		both(t, test)
	})
}
