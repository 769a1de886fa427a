package forensics

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// The ids of a superblock, mount, process, thread and goroutine are another node's as well, and mean something else there.
func TestIdentity(t *testing.T) {
	e := NewEvidence()
	mount := func(id int, device string, class mounts.Class, fsType, source string) {
		e.Mounts.Mounts = append(e.Mounts.Mounts, mounts.Mount{ID: id, Device: device, Root: "/", MountPoint: "/mnt", Class: class, FSType: fsType, Source: source})
	}
	mount(20, "0:40", mounts.ClassNetwork, "nfs4", "10.0.0.5:/export")
	mount(21, "0:41", mounts.ClassNetwork, "ceph", "10.0.0.6:6789,10.0.0.5:6789:/k8s")
	mount(22, "0:42", mounts.ClassNetwork, "ceph", "admin@b3acfc0d.cephfs=/k8s")
	mount(23, "0:43", mounts.ClassNetwork, "cifs", "//Files/share")
	mount(24, "0:44", mounts.ClassFUSE, "fuse.sshfs", "backup@10.0.0.7:/srv")
	mount(25, "0:45", mounts.ClassFUSE, "fuse.s3fs", "s3fs")
	mount(26, "0:46", mounts.ClassFUSE, "fuse", "/dev/fuse")
	mount(27, "0:47", mounts.ClassFUSE, "fuse.juicefs", "JuiceFS:vol")
	mount(28, "8:1", mounts.ClassBlock, "ext4", "/dev/sda1")
	mount(29, "0:48", mounts.ClassNetwork, "nfs", "[fd00::5]:/export")
	e.Processes = []procs.Process{{PID: 7, Comm: "postgres"}}
	e.Threads = []procs.Thread{{PID: 7, TID: 8, Wait: procs.Wait{Function: "nfs_wait_bit_killable"}}}
	e.Kubelet = &kubelet.Instance{PID: 99, Version: "1.34.4"}
	e.Dumps = []Dump{{Dump: goroutines.Dump{Goroutines: []goroutines.Goroutine{{ID: 5, Count: 1, Frames: []goroutines.Frame{
		{Func: "runtime.gopark"},
		{Func: "sync.runtime_SemacquireMutex"},
		{Func: "internal/sync.(*Mutex).lockSlow"},
		{Func: "sync.(*Mutex).Lock"},
		{Func: "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod"},
	}}, {ID: 6, Count: 1, Frames: []goroutines.Frame{{Func: "syscall.Syscall6"}, {Func: "os.Stat"}}}}}}}
	m := NewModel(&e)
	for _, tt := range []struct {
		entity Entity
		want   Identity
	}{
		{Entity{KindSuperblock, "0:40"}, Identity{Kind: "file-system", ID: "NFS 10.0.0.5", Name: "NFS 10.0.0.5:/export", Shared: true}},
		{MountEntity(20), Identity{Kind: "file-system", ID: "NFS 10.0.0.5", Name: "NFS 10.0.0.5:/export", Shared: true}},
		{Entity{KindSuperblock, "0:48"}, Identity{Kind: "file-system", ID: "NFS [fd00::5]", Name: "NFS [fd00::5]:/export", Shared: true}},
		{Entity{KindSuperblock, "0:41"}, Identity{Kind: "file-system", ID: "CephFS 10.0.0.5:6789,10.0.0.6:6789", Name: "CephFS 10.0.0.6:6789,10.0.0.5:6789:/k8s", Shared: true}},
		{Entity{KindSuperblock, "0:42"}, Identity{Kind: "file-system", ID: "CephFS b3acfc0d.cephfs", Name: "CephFS admin@b3acfc0d.cephfs=/k8s", Shared: true}},
		{Entity{KindSuperblock, "0:43"}, Identity{Kind: "file-system", ID: "SMB files", Name: "SMB //Files/share", Shared: true}},
		{Entity{KindSuperblock, "0:44"}, Identity{Kind: "file-system", ID: "SSHFS backup@10.0.0.7", Name: "SSHFS backup@10.0.0.7:/srv", Shared: true}},
		{Entity{KindSuperblock, "0:45"}, Identity{Kind: "file-system", ID: "s3fs"}},
		{Entity{KindSuperblock, "0:46"}, Identity{Kind: "file-system", ID: "FUSE"}},
		{Entity{KindSuperblock, "0:47"}, Identity{Kind: "file-system", ID: "JuiceFS JuiceFS:vol"}},
		{Entity{KindSuperblock, "8:1"}, Identity{Kind: "file-system", ID: "ext4"}},
		{Entity{KindSuperblock, "0:99"}, Identity{Kind: "file-system"}},
		{Entity{KindProcess, "7"}, Identity{Kind: KindProcess, ID: "postgres"}},
		{Entity{KindThread, "7/8"}, Identity{Kind: KindThread, ID: "nfs_wait_bit_killable"}},
		{Entity{KindGoroutine, "5"}, Identity{Kind: KindGoroutine, ID: "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).UpdatePod"}},
		{Entity{KindGoroutine, "6"}, Identity{Kind: KindGoroutine}},
		{Entity{KindKubelet, "99"}, Identity{Kind: KindKubelet, ID: "1.34.4"}},
		{Entity{KindVolume, "5c94/kubernetes.io~nfs/data"}, Identity{Kind: KindVolume, ID: "kubernetes.io~nfs"}},
		{Entity{KindVolume, "5c94/kubernetes.io/csi/data"}, Identity{Kind: KindVolume, ID: "kubernetes.io/csi"}},
		{Entity{KindPod, "5c94"}, Identity{Kind: KindPod}},
		{Entity{KindDisk, "8:1"}, Identity{Kind: KindDisk}},
		{Entity{KindCSIDriver, "nfs.csi.k8s.io"}, Identity{Kind: KindCSIDriver, ID: "nfs.csi.k8s.io"}},
		{Entity{KindRuntime, "containerd"}, Identity{Kind: KindRuntime, ID: "containerd"}},
		{Entity{kindLimit, "inotify"}, Identity{Kind: kindLimit, ID: "inotify"}},
		{Entity{kindServer, "10.0.0.5"}, Identity{Kind: kindServer, ID: "10.0.0.5", Shared: true}},
		{Entity{KindClaim, "shop/data"}, Identity{Kind: KindClaim, ID: "shop/data", Shared: true}},
	} {
		if diff := cmp.Diff(tt.want, identityOf(m, tt.entity)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.entity, diff)
		}
	}
}
