package live

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/testfuse"
)

// TestWalkHungMounts has dead FUSE mounts in every place of a pod where the kubelet mounts something. Only one of them is
// in the table that the walk is given: the others came later.
func TestWalkHungMounts(t *testing.T) {
	root := t.TempDir()
	uid := randomUID()
	pod := filepath.Join(root, "pods", uid)
	writeTree(t, pod, map[string]string{
		"etc-hosts": hostsBefore + "10.0.0.1\tapp\n",
		"volumes/kubernetes.io~csi/pvc-1/vol_data.json": volData,
		"volume-subpaths/data/c/":                       "",
	})
	csi := testfuse.Mount(t, filepath.Join(pod, "volumes/kubernetes.io~csi/pvc-1/mount"), testfuse.Options{Type: "fuse.chubaofs"})
	nfs := testfuse.Mount(t, filepath.Join(pod, "volumes/kubernetes.io~cephfs/data"), testfuse.Options{Type: "fuse.ceph-fuse"})
	sub := testfuse.Mount(t, filepath.Join(pod, "volume-subpaths/data/c/0"), testfuse.Options{})
	late := testfuse.Mount(t, filepath.Join(pod, "volume-subpaths/data/c/1"), testfuse.Options{})
	block := testfuse.Mount(t, filepath.Join(pod, "volumeDevices/kubernetes.io~csi/pvc-2"), testfuse.Options{})
	whole := testfuse.Mount(t, filepath.Join(root, "pods", "mounted"), testfuse.Options{})
	for _, server := range []*testfuse.Server{csi, nfs, sub, late, block, whole} {
		server.Hang()
	}

	var group probe.Group
	got, err := Walk(t.Context(), openFS(t, "/"), table(sub.MountPoint()), root, WalkOptions{Group: &group})
	must(t, err)
	want := []kubelet.PodDir{
		{
			UID: uid, Path: pod, HostName: "app",
			Volumes: []kubelet.Volume{
				{Plugin: "kubernetes.io/csi", Name: "pvc-2", Path: block.MountPoint(), Block: true, Entries: -1, MountPoints: []string{block.MountPoint()}},
				{Plugin: "kubernetes.io/cephfs", Name: "data", Path: nfs.MountPoint(), Entries: -1, MountPoints: []string{nfs.MountPoint()}},
				{
					Plugin: "kubernetes.io/csi", Name: "pvc-1", Path: filepath.Dir(csi.MountPoint()), Entries: 2, HasMountDir: true, MountPoints: []string{csi.MountPoint()},
					VolData: &kubelet.VolData{Driver: "csi.chubaofs.com", VolumeHandle: "h1", SpecVolID: "pvc-1"},
				},
			},
			Subpaths: []kubelet.Subpath{
				{Volume: "data", Container: "c", Index: "0", Path: sub.MountPoint(), Kind: "mount"},
				{Volume: "data", Container: "c", Index: "1", Path: late.MountPoint(), Kind: "mount"},
			},
		},
		{UID: "mounted", Path: whole.MountPoint(), Error: "open " + whole.MountPoint() + ": crosses a mount point"},
	}
	sortPods := cmpopts.SortSlices(func(a, b kubelet.PodDir) bool { return a.UID < b.UID })
	if diff := cmp.Diff(want, got, ignoreTimes, sortPods, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if group.GivenUp() != 0 {
		t.Errorf("%d calls were given up", group.GivenUp())
	}
	for _, server := range []*testfuse.Server{csi, nfs, sub, late, block, whole} {
		if n := server.Waiting(); n != 0 {
			t.Errorf("%s: %d requests wait: it was touched", server.MountPoint(), n)
		}
	}
}

// TestWalkHungRoot has the whole root directory on a mount that stops answering.
func TestWalkHungRoot(t *testing.T) {
	fuse := testfuse.Mount(t, t.TempDir(), testfuse.Options{Files: map[string]string{"pods/u/containers/a/": ""}})
	fuse.Hang()
	var group probe.Group
	ctx, cancel := context.WithCancel(t.Context())
	fsys := openFS(t, "/")
	go func() {
		for len(group.Outstanding()) == 0 || fuse.Waiting() == 0 {
			if ctx.Err() != nil {
				return
			}
		}
		cancel()
	}()
	_, err := Walk(ctx, fsys, nil, fuse.MountPoint(), WalkOptions{Group: &group})
	cancel()
	if !errors.Is(err, context.Canceled) || group.GivenUp() != 1 {
		t.Errorf("error = %v, given up %d; want one call given up", err, group.GivenUp())
	}
}
