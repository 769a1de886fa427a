package main

import (
	"bufio"
	"errors"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// livePod is a pod that every kubelet of these tests runs: its list must not be empty to prove an orphan.
const livePod = "0b5d2a54-6ffa-4d31-9a2b-7e13c40f1f7e"

// A volume is what a pod has mounted.
type volume struct {
	plugin, name   string // as directories below volumes/
	fsType, source string
}

// someVolume is one that a FUSE server serves, as they are found on nodes.
func someVolume() volume {
	all := []volume{
		{"kubernetes.io~cephfs", "cephfs-data", "fuse.ceph-fuse", "10.0.0.5:6789:/k8s"},
		{"kubernetes.io~glusterfs", "pv-7", "fuse.glusterfs", "10.0.0.9:gv0"},
		{"kubernetes.io~csi", "pvc-" + testfuse.NewUID(), "fuse.chubaofs", "chubaofs:17010/vol1"},
		{"kubernetes.io~csi", "pvc-" + testfuse.NewUID(), "fuse.juicefs", "JuiceFS:jfs"},
		{"kubernetes.io~csi", "pvc-" + testfuse.NewUID(), "fuse.s3fs", "s3fs"},
		{"fstab~cifs", "share with blanks", "fuse", "//nas/share"},
		{"kubernetes.io~flexvolume", "ünïcode", "fuse.sshfs", "backup@10.0.0.1:/"},
	}
	return all[mathrand.IntN(len(all))]
}

// path is where the volume of a pod is mounted.
func (v volume) path(root, uid string) string {
	p := filepath.Join(root, "pods", uid, "volumes", v.plugin, v.name)
	if v.plugin == "kubernetes.io~csi" {
		p = filepath.Join(p, "mount")
	}
	return p
}

// mountVolume mounts a volume of a pod below a kubelet's root.
func mountVolume(t testing.TB, root, uid string, v volume) *testfuse.Server {
	t.Helper()
	return testfuse.Mount(t, v.path(root, uid), testfuse.Options{
		Type: v.fsType, Source: v.source, Files: map[string]string{"data/file": "content"},
	})
}

// freePort is a port that nobody on this node uses, and that no connection gets (net.ipv4.ip_local_port_range begins at 32768).
func freePort(t testing.TB) string {
	t.Helper()
	for {
		port := strconv.Itoa(20_000 + mathrand.IntN(10_000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		switch {
		case err == nil:
			_ = l.Close()
			return port
		case !errors.Is(err, unix.EADDRINUSE):
			t.Fatal(err)
		}
	}
}

// noEviction are thresholds that the disk of the machine that runs the tests is not near, however full it may be.
const noEviction = "memory.available<1Mi,nodefs.available<1Mi,nodefs.inodesFree<1,imagefs.available<1Mi,imagefs.inodesFree<1"

// startKubelet starts a kubelet on a root directory and returns when it listens. It runs livePod.
func startKubelet(t testing.TB, root string, flags ...string) *exec.Cmd {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(root, "pods", livePod), 0o755); err != nil {
		t.Fatal(err)
	}
	flags = append([]string{
		"--root-dir=" + root, "--port=" + freePort(t), "--read-only-port=" + freePort(t), "--healthz-port", freePort(t),
		"--pods=" + livePod, "--eviction-hard=" + noEviction,
	}, flags...)
	cmd := exec.Command(program(t, kubeletName), flags...)
	cmd.Dir, cmd.Stderr = "/", os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // it may be stuck until its mount goes
		_ = cmd.Process.Kill()
		go func() { _ = cmd.Wait() }()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "listening" {
		t.Fatalf("the kubelet said %q: %v", line, err)
	}
	return cmd
}

// hangUnder makes a mount dead and waits until the kubelet is stuck in it.
func hangUnder(t testing.TB, s *testfuse.Server) {
	t.Helper()
	s.Hang()
	testfuse.Await(t, "housekeeping to ask the dead mount", func() bool { return s.Unanswered() > 0 })
}
