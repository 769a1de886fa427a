package live

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

func statusOfSource(in kubelet.Instance, name string) string {
	for _, s := range in.Sources {
		if s.Path == name {
			return s.Status
		}
	}
	return ""
}

// TestFindOtherNamespace finds the configuration of a process that alone sees it, in a mount namespace of its own.
func TestFindOtherNamespace(t *testing.T) {
	dir := t.TempDir()
	pid, _ := startRole(t, roleMount, &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}, "KUBELET_TEST_DIR="+dir)
	config := filepath.Join(dir, "config.yaml")
	candidate := kubelet.Candidate{PID: pid, Comm: "kubelet", Args: []string{"kubelet", "--config", config, "--root-dir", dir}, MountNS: 2}

	in := Find(t.Context(), openFS(t, "/"), []kubelet.Candidate{candidate}, FindOptions{HostMountNS: 1})
	if in.StaticPodPath != "/etc/kubernetes/manifests" || in.CanonicalRoot != dir {
		t.Errorf("instance %+v", in)
	}
	if in.Version != "" {
		t.Errorf("version %q of a binary that is no kubelet", in.Version)
	}
	in = Find(t.Context(), openFS(t, "/"), []kubelet.Candidate{candidate}, FindOptions{})
	if statusOfSource(in, config) != "absent" {
		t.Errorf("sources %+v; want that the file is not in this namespace", in.Sources)
	}
}

// TestFindHung has the root directory of the kubelet, with its configuration, on a mount that does not answer.
func TestFindHung(t *testing.T) {
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"kubelet/config.yaml": configuration, "kubelet/pods/u/": ""}})
	fuse.Hang()
	root := filepath.Join(fuse.MountPoint(), "kubelet")
	config := filepath.Join(root, "config.yaml")
	var group probe.Group
	candidate := kubelet.Candidate{PID: os.Getpid(), Comm: "kubelet", Args: []string{"kubelet", "--config", config, "--root-dir", root}}
	in := Find(t.Context(), openFS(t, "/"), []kubelet.Candidate{candidate}, FindOptions{Group: &group, Timeout: 200 * time.Millisecond})
	if in.PID != os.Getpid() || in.CanonicalRoot != root || in.ConfigPath != config || in.Config != nil {
		t.Errorf("instance %+v", in)
	}
	for _, name := range []string{root, config} {
		if status := statusOfSource(in, name); status != "timeout" {
			t.Errorf("%s: %q; want a timeout", name, status)
		}
	}
	if calls := group.Outstanding(); len(calls) == 0 || !strings.Contains(calls[0].Key, fuse.MountPoint()) {
		t.Errorf("outstanding calls %v; want the stuck one", calls)
	}
}

func TestFindCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := Find(ctx, fakeHost(t, nil), []kubelet.Candidate{{PID: 7, Comm: "kubelet", Args: []string{"kubelet", "--root-dir=/k"}}}, FindOptions{})
	if in.PID != 7 || in.RootDir != "/k" || statusOfSource(in, "/k") != "timeout" {
		t.Errorf("instance %+v; want what needs no file", in)
	}
}
