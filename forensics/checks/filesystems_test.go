package checks

import (
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// TestChainsOfFileSystems follows a thread of the kubelet to the mount that does not answer, for file systems whose waits
// have another name in the kernel than their mounts have.
func TestChainsOfFileSystems(t *testing.T) {
	const through, not = true, false
	for _, c := range []struct {
		fsType, stack string
		want          bool
	}{
		{"fuse.ceph-fuse", "request_wait_answer fuse_do_getattr", through},
		{"virtiofs", "request_wait_answer __fuse_simple_request fuse_do_getattr", through},
		{"virtiofs", "virtio_fs_enqueue_req fuse_do_getattr", through},
		{"virtiofs", "rpc_wait_bit_killable nfs4_proc_getattr", not},
		{"nfs", "rpc_wait_bit_killable nfs3_proc_getattr", through},
		{"nfs4", "rpc_wait_bit_killable nfs4_proc_getattr", through},
		{"nfs4", "request_wait_answer fuse_do_getattr", not},
		{"cifs", "wait_for_response cifs_send_recv smb2_query_path_info", through},
		{"smb3", "wait_for_response cifs_send_recv smb2_query_path_info", through},
		{"smbfs", "wait_for_response cifs_send_recv", through},
		{"smb3", "ceph_mdsc_do_request", not},
		{"lustre_lite", "ptlrpc_set_wait ldlm_completion_ast", through},
		{"ext3", "jbd2_log_wait_commit ext4_sync_file", through},
		{"ext3", "log_wait_commit ext3_sync_file", through},
		{"ext4", "jbd2_log_wait_commit ext4_sync_file", through},
		{"ext3", "xlog_wait_on_iclog xfs_file_fsync", not},
		{"ntfs", "folio_wait_bit_common ntfs_readdir", through},
	} {
		t.Run(c.fsType+" in "+c.stack, func(t *testing.T) {
			e := sickNode(t)
			e.Mounts.Mounts[2].FSType, e.Mounts.Mounts[2].Class = c.fsType, mounts.ClassOf(c.fsType)
			stack := strings.Fields(c.stack)
			wait, ok := procs.ThreadWait("D", stack[0], "", stack)
			if !ok {
				t.Fatalf("%q is no wait", stack)
			}
			e.Threads[0].WChan, e.Threads[0].Stack, e.Threads[0].Wait, e.Threads[0].State = stack[0], stack, wait, "D"
			a := forensics.Analyze(&e, All())
			want, got := "mount 60, thread 9825/9839", ""
			for _, d := range a.Diagnoses {
				var chain []string
				for _, link := range d.Chain {
					chain = append(chain, string(link.Kind)+" "+link.ID)
				}
				if at := slices.Index(chain, "thread 9825/9839"); at > 0 {
					got = strings.Join(chain[at-1:at+1], ", ")
				}
			}
			if (got == want) != c.want {
				t.Errorf("the way to the thread is %q; through the mount: %t, want %t", got, got == want, c.want)
			}
		})
	}
}
