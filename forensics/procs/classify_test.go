package procs

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
)

func TestClassifyWait(t *testing.T) {
	for name, tc := range map[string]struct {
		wchan string
		stack string // innermost first
		want  Wait   // without Meaning
	}{
		// Network file systems.
		"nfs getattr, 6.x": {
			"rpc_wait_bit_killable", "rpc_wait_bit_killable __rpc_execute rpc_execute rpc_run_task nfs4_call_sync_sequence " +
				"_nfs4_proc_getattr nfs4_proc_getattr __nfs_revalidate_inode nfs_getattr vfs_statx __do_sys_newfstatat",
			Wait{Kind: WaitServer, FS: "nfs", Function: "rpc_wait_bit_killable", Kill: "yes"},
		},
		"nfs getattr, wchan only": {"rpc_wait_bit_killable", "", Wait{WaitServer, "nfs", "rpc_wait_bit_killable", "yes", ""}},
		"nfs3, el7": {
			"", "[<ffffffffc0536f34>] rpc_wait_bit_killable+0x24/0xb0 [sunrpc]\n[<ffffffffc05386f5>] __rpc_execute+0xf5/0x1d0 [sunrpc]\n" +
				"[<ffffffffc0588c28>] nfs3_rpc_wrapper.constprop.11+0x68/0xa0 [nfsv3]\n[<ffffffffffffffff>] 0xffffffffffffffff",
			Wait{WaitServer, "nfs", "rpc_wait_bit_killable", "yes", ""},
		},
		"only the end mark of a stack":              {"rpc_wait_bit_killable", "[<ffffffffffffffff>] 0xffffffffffffffff", Wait{WaitServer, "nfs", "rpc_wait_bit_killable", "yes", ""}},
		"addresses without names":                   {"", "0x\npath_openat", Wait{WaitFSLock, "", "path_openat", "no", ""}},
		"nfs look-up, a function not in the tables": {"nfs4_made_up", "", Wait{WaitServer, "nfs", "nfs4_made_up", "yes", ""}},
		"nfs fsync waits for pages": {
			"folio_wait_bit_common", "folio_wait_bit_common folio_wait_writeback __filemap_fdatawait_range " +
				"filemap_write_and_wait_range nfs_file_fsync vfs_fsync_range do_fsync",
			Wait{WaitServer, "nfs", "nfs_file_fsync", "", ""},
		},
		"nfs umount": {
			"rpc_wait_bit_killable", "rpc_wait_bit_killable __rpc_execute rpc_run_task rpc_call_sync nfs4_destroy_session " +
				"nfs_free_server nfs_kill_super deactivate_locked_super cleanup_mnt",
			Wait{WaitServer, "nfs", "rpc_wait_bit_killable", "yes", ""},
		},
		"cephfs getattr": {
			"ceph_mdsc_wait_request", "ceph_mdsc_wait_request ceph_mdsc_do_request __ceph_do_getattr ceph_getattr vfs_statx",
			Wait{WaitServer, "ceph", "ceph_mdsc_wait_request", "yes", ""},
		},
		"cephfs statfs":   {"", "wait_generic_request ceph_monc_do_statfs ceph_statfs statfs_by_dentry", Wait{WaitServer, "ceph", "wait_generic_request", "yes", ""}},
		"cephfs caps":     {"", "ceph_get_caps ceph_read_iter vfs_read", Wait{WaitServer, "ceph", "ceph_get_caps", "yes", ""}},
		"cifs":            {"wait_for_response", "wait_for_response compound_send_recv smb2_compound_op smb2_query_path_info cifs_get_inode_info", Wait{WaitServer, "cifs", "wait_for_response", "yes", ""}},
		"cifs by prefix":  {"smb2_something_new", "", Wait{WaitServer, "cifs", "smb2_something_new", "yes", ""}},
		"9p":              {"p9_client_rpc", "p9_client_rpc p9_client_getattr_dotl v9fs_vfs_getattr_dotl vfs_statx", Wait{WaitServer, "9p", "p9_client_rpc", "", ""}},
		"autofs":          {"autofs_wait", "autofs_wait autofs_mount_wait autofs_d_automount __traverse_mounts step_into", Wait{WaitAutofs, "autofs", "autofs_wait", "yes", ""}},
		"autofs, <= 4.17": {"autofs4_wait", "", Wait{WaitAutofs, "autofs", "autofs4_wait", "yes", ""}},

		// FUSE.
		"fuse getattr, 6.18": {
			"request_wait_answer", "request_wait_answer __fuse_simple_request fuse_do_getattr vfs_getattr_nosec vfs_statx",
			Wait{WaitFUSE, "fuse", "request_wait_answer", "", ""},
		},
		"fuse, 4.x":                  {"request_wait_answer", "request_wait_answer __fuse_request_send fuse_request_send fuse_do_getattr", Wait{WaitFUSE, "fuse", "request_wait_answer", "", ""}},
		"fuse, inlined":              {"fuse_simple_request.isra.0", "", Wait{WaitFUSE, "fuse", "fuse_simple_request", "", ""}},
		"fuse page read":             {"", "folio_wait_bit_common filemap_read fuse_cache_read_iter vfs_read", Wait{WaitFUSE, "fuse", "fuse_cache_read_iter", "", ""}},
		"fuse, too many requests":    {"", "fuse_get_req fuse_simple_request fuse_lookup_name", Wait{WaitFUSE, "fuse", "fuse_get_req", "yes", ""}},
		"fuse, directory lock":       {"", "mutex_lock fuse_lock_inode fuse_lookup __lookup_slow", Wait{WaitFSLock, "fuse", "fuse_lock_inode", "no", ""}},
		"fuse server without work":   {"fuse_dev_do_read", "fuse_dev_do_read fuse_dev_read vfs_read ksys_read", Wait{}},
		"fuse server that waits":     {"", "request_wait_answer __fuse_simple_request fuse_do_getattr vfs_statx fuse_dev_do_write", Wait{WaitFUSE, "fuse", "request_wait_answer", "", ""}},
		"page fault on fuse":         {"", "request_wait_answer fuse_simple_request fuse_readahead read_pages filemap_fault __do_fault handle_mm_fault do_user_addr_fault", Wait{WaitFUSE, "fuse", "request_wait_answer", "", ""}},
		"overlay on fuse":            {"", "request_wait_answer __fuse_simple_request fuse_lookup_name fuse_lookup ovl_lookup_single ovl_lookup", Wait{WaitFUSE, "fuse", "request_wait_answer", "", ""}},
		"reading a dead mapping":     {"", "folio_wait_bit_common filemap_fault __do_fault handle_mm_fault __get_user_pages __access_remote_vm proc_pid_cmdline_read", Wait{WaitBlock, "", "folio_wait_bit_common", "no", ""}},
		"own path is on another one": {"", "rpc_wait_bit_killable nfs_wb_folio nfs_release_folio shrink_folio_list shrink_lruvec try_to_free_pages ext4_readdir", Wait{WaitServer, "nfs", "rpc_wait_bit_killable", "yes", ""}},

		// Locks of files that programs ask for.
		"nfs 4.0, another has the lock": {
			"nfs4_proc_lock", "nfs4_proc_lock do_setlk __do_sys_flock do_syscall_64", Wait{WaitFileLock, "nfs", "nfs4_proc_lock", "yes", ""},
		},
		"nfs 4.1, another has the lock":  {"wait_woken", "wait_woken nfs4_proc_lock do_setlk __do_sys_flock", Wait{}},
		"nfs lock, wchan only":           {"nfs4_retry_setlk_simple", "", Wait{WaitFileLock, "nfs", "nfs4_retry_setlk_simple", "yes", ""}},
		"nfs 3, another has the lock":    {"nlmclnt_block", "nlmclnt_block nlmclnt_lock nlmclnt_proc nfs3_proc_lock do_setlk nfs_lock", Wait{WaitFileLock, "nfs", "nlmclnt_block", "yes", ""}},
		"nfs lock in the grace period":   {"", "nfs4_handle_exception nfs4_proc_setlk nfs4_proc_lock do_setlk __do_sys_flock", Wait{WaitRetry, "nfs", "nfs4_handle_exception", "yes", ""}},
		"nfs open in the grace period":   {"", "nfs4_handle_exception nfs4_do_open nfs4_atomic_open nfs_atomic_open", Wait{WaitRetry, "nfs", "nfs4_handle_exception", "yes", ""}},
		"nfs lock, a dead server":        {"", "rpc_wait_bit_killable __rpc_wait_for_completion_task _nfs4_do_setlk nfs4_proc_lock do_setlk nfs_flock", Wait{WaitServer, "nfs", "rpc_wait_bit_killable", "yes", ""}},
		"nfs lock, data to write before": {"", "nfs_wait_on_request nfs_wb_all do_setlk nfs_lock", Wait{WaitServer, "nfs", "nfs_wait_on_request", "", ""}},
		"fuse, another has the lock": {
			"request_wait_answer", "request_wait_answer __fuse_simple_request fuse_setlk __do_sys_flock do_syscall_64",
			Wait{WaitFileLock, "fuse", "request_wait_answer", "", ""},
		},
		"fuse, letting go of a lock": {
			"", "request_wait_answer __fuse_simple_request fuse_setlk fuse_file_lock vfs_lock_file locks_remove_posix filp_flush filp_close",
			Wait{WaitFUSE, "fuse", "request_wait_answer", "", ""},
		},
		"cephfs, another has the lock": {"", "ceph_lock_wait_for_completion ceph_mdsc_wait_request ceph_mdsc_do_request ceph_lock_message ceph_flock", Wait{WaitFileLock, "ceph", "ceph_lock_wait_for_completion", "", ""}},
		"cifs, another has the lock":   {"wait_for_response", "wait_for_response compound_send_recv smb2_lockv SMB2_lock cifs_setlk cifs_flock", Wait{WaitFileLock, "cifs", "wait_for_response", "yes", ""}},
		"ext4, another has the lock":   {"", "fcntl_setlk do_fcntl __x64_sys_fcntl", Wait{}},

		// Disks.
		"block device":             {"", "folio_wait_bit_common filemap_read blkdev_read_iter vfs_read", Wait{WaitBlock, "", "folio_wait_bit_common", "no", ""}},
		"ext4 directory":           {"", "__wait_on_buffer ext4_bread ext4_readdir iterate_dir", Wait{WaitBlock, "ext4", "__wait_on_buffer", "no", ""}},
		"ext4 on a kernel of 2009": {"sync_buffer", "", Wait{WaitBlock, "", "sync_buffer", "no", ""}},
		"request queue":            {"", "blk_mq_get_tag __blk_mq_alloc_requests blk_mq_submit_bio submit_bio_noacct xfs_buf_submit xfs_buf_read_map", Wait{WaitBlock, "xfs", "blk_mq_get_tag", "no", ""}},
		"sync of all":              {"", "wb_wait_for_completion sync_inodes_sb iterate_supers __do_sys_sync", Wait{WaitBlock, "", "wb_wait_for_completion", "no", ""}},
		"memory is being freed":    {"", "folio_wait_bit_common folio_wait_writeback shrink_folio_list shrink_lruvec try_to_free_mem_cgroup_pages ext4_readdir", Wait{WaitBlock, "", "folio_wait_bit_common", "no", ""}},
		"overlay on xfs":           {"", "xfs_buf_iowait xfs_buf_read_map xfs_da_read_buf xfs_lookup ovl_lookup", Wait{WaitBlock, "xfs", "xfs_buf_iowait", "no", ""}},
		"only an I/O primitive":    {"", "io_schedule bit_wait_io __wait_on_bit", Wait{WaitBlock, "", "io_schedule", "no", ""}},
		"I/O primitive visible":    {"", "bit_wait_io __wait_on_bit out_of_line_wait_on_bit ext4_made_up", Wait{WaitBlock, "ext4", "bit_wait_io", "no", ""}},
		"md":                       {"", "md_super_wait md_update_sb", Wait{WaitBlock, "", "md_super_wait", "no", ""}},
		"zfs":                      {"", "cv_wait_common __cv_wait txg_wait_synced_impl zil_commit", Wait{WaitJournal, "zfs", "txg_wait_synced_impl", "no", ""}},
		"jbd2 commit":              {"", "jbd2_log_wait_commit ext4_sync_file do_fsync", Wait{WaitJournal, "ext4", "jbd2_log_wait_commit", "no", ""}},
		"jbd2 thread writes":       {"", "__wait_on_buffer jbd2_journal_commit_transaction kjournald2 kthread", Wait{WaitBlock, "ext4", "__wait_on_buffer", "no", ""}},
		"xfs log":                  {"", "xlog_wait_on_iclog xfs_log_force_seq xfs_file_fsync do_fsync", Wait{WaitJournal, "xfs", "xlog_wait_on_iclog", "no", ""}},
		"btrfs":                    {"", "wait_current_trans start_transaction btrfs_create", Wait{WaitJournal, "btrfs", "wait_current_trans", "no", ""}},
		"dirty pages":              {"", "io_schedule_timeout balance_dirty_pages.isra.0 balance_dirty_pages_ratelimited_flags generic_perform_write ext4_buffered_write_iter", Wait{WaitWriteback, "ext4", "balance_dirty_pages", "yes", ""}},

		// Frozen file systems and cgroups.
		"frozen, 6.x write":       {"percpu_rwsem_wait", "percpu_rwsem_wait __percpu_down_read vfs_write ksys_write", Wait{WaitFrozen, "", "percpu_rwsem_wait", "no", ""}},
		"frozen, 6.x mkdir":       {"percpu_rwsem_wait", "percpu_rwsem_wait __percpu_down_read mnt_want_write filename_create do_mkdirat", Wait{WaitFrozen, "", "percpu_rwsem_wait", "no", ""}},
		"frozen, wchan only":      {"percpu_rwsem_wait", "", Wait{WaitFrozen, "", "percpu_rwsem_wait", "no", ""}},
		"frozen, 4.18":            {"", "call_rwsem_down_read_failed __percpu_down_read __sb_start_write mnt_want_write do_unlinkat", Wait{WaitFrozen, "", "__percpu_down_read", "no", ""}},
		"frozen, el7":             {"__sb_start_write", "__sb_start_write mnt_want_write path_openat", Wait{WaitFrozen, "", "__sb_start_write", "no", ""}},
		"frozen xfs transaction":  {"", "percpu_rwsem_wait __percpu_down_read xfs_trans_alloc xfs_create", Wait{WaitFrozen, "xfs", "percpu_rwsem_wait", "no", ""}},
		"freezing":                {"", "percpu_down_write freeze_super ioctl_fsfreeze", Wait{WaitFrozen, "", "percpu_down_write", "no", ""}},
		"fork waits for a cgroup": {"", "percpu_rwsem_wait __percpu_down_read copy_process kernel_clone", Wait{WaitCgroup, "", "copy_process", "", ""}},
		"cgroup waits for forks":  {"", "percpu_rwsem_wait percpu_down_write cgroup_procs_write_start __cgroup_procs_write", Wait{WaitCgroup, "", "cgroup_procs_write_start", "", ""}},
		"CPU hotplug":             {"", "percpu_rwsem_wait __percpu_down_read cpus_read_lock kmem_cache_create", Wait{}},
		"cgroup lock":             {"", "cgroup_kn_lock_live cgroup_mkdir kernfs_iop_mkdir vfs_mkdir", Wait{WaitCgroup, "", "cgroup_kn_lock_live", "", ""}},
		"reading a cgroup file":   {"", "mutex_lock proc_cgroup_show proc_single_show seq_read", Wait{WaitCgroup, "", "proc_cgroup_show", "", ""}},
		"frozen cgroup v1":        {"__refrigerator", "__refrigerator get_signal do_signal", Wait{WaitFreezer, "", "__refrigerator", "no", ""}},
		"frozen cgroup v2":        {"do_freezer_trap", "do_freezer_trap get_signal", Wait{WaitFreezer, "", "do_freezer_trap", "yes", ""}},

		// Locks.
		"directory":                {"", "lookup_slow walk_component path_lookupat filename_lookup vfs_statx", Wait{WaitFSLock, "", "lookup_slow", "no", ""}},
		"directory, lock visible":  {"", "rwsem_down_write_slowpath down_write path_openat do_filp_open", Wait{WaitFSLock, "", "path_openat", "no", ""}},
		"directory being listed":   {"", "iterate_dir __do_sys_getdents64", Wait{WaitFSLock, "", "iterate_dir", "yes", ""}},
		"same name":                {"", "d_alloc_parallel __lookup_slow lookup_slow walk_component", Wait{WaitFSLock, "", "d_alloc_parallel", "no", ""}},
		"path_openat is not a top": {"", "do_some_driver_open chrdev_open do_dentry_open path_openat", Wait{}},
		"xfs inode":                {"", "xfs_ilock xfs_file_buffered_write vfs_write", Wait{WaitFSLock, "xfs", "xfs_ilock", "no", ""}},
		"ext4 inode":               {"ext4_buffered_write_iter", "ext4_buffered_write_iter vfs_write", Wait{WaitFSLock, "ext4", "ext4_buffered_write_iter", "no", ""}},
		"overlay copy up":          {"", "mutex_lock_interruptible ovl_copy_up_start ovl_copy_up_flags", Wait{WaitFSLock, "overlay", "ovl_copy_up_start", "no", ""}},
		"mount table":              {"", "rwsem_down_write_slowpath down_write namespace_lock do_umount", Wait{WaitFSLock, "", "namespace_lock", "no", ""}},
		"mount table, 6.18":        {"", "do_lock_mount path_mount __x64_sys_mount", Wait{WaitFSLock, "", "do_lock_mount", "no", ""}},
		"superblock":               {"", "super_lock iterate_supers ksys_sync __do_sys_sync", Wait{WaitFSLock, "", "super_lock", "no", ""}},
		"virus scanner":            {"", "fanotify_get_response fanotify_handle_event fsnotify do_dentry_open", Wait{WaitFSLock, "", "fanotify_get_response", "yes", ""}},
		"unknown lock of the VFS":  {"", "down_write made_up_function vfs_made_up", Wait{WaitFSLock, "", "made_up_function", "no", ""}},
		"unknown lock":             {"", "down_write made_up_function some_ioctl", Wait{}},

		// Memory maps, ends.
		"page fault":              {"", "do_user_addr_fault exc_page_fault asm_exc_page_fault", Wait{WaitMmapLock, "", "do_user_addr_fault", "", ""}},
		"page fault, el7":         {"", "call_rwsem_down_read_failed __do_page_fault do_page_fault page_fault", Wait{WaitMmapLock, "", "__do_page_fault", "", ""}},
		"command line of another": {"", "down_read_killable __access_remote_vm proc_pid_cmdline_read vfs_read", Wait{WaitMmapLock, "", "__access_remote_vm", "", ""}},
		"page fault in a driver":  {"", "made_up_fault __do_fault handle_mm_fault do_user_addr_fault", Wait{}},
		"end of a PID namespace":  {"do_wait", "do_wait kernel_wait4 zap_pid_ns_processes do_exit", Wait{WaitExit, "", "zap_pid_ns_processes", "no", ""}},
		"core dump":               {"", "coredump_task_exit do_exit do_group_exit get_signal", Wait{WaitExit, "", "coredump_task_exit", "", ""}},
		"vfork, inlined":          {"kernel_clone", "kernel_clone __do_sys_vfork do_syscall_64", Wait{WaitExit, "", "kernel_clone", "yes", ""}},
		"vfork, el7":              {"", "do_fork sys_vfork stub_vfork", Wait{WaitExit, "", "do_fork", "yes", ""}},
		"vfork":                   {"", "wait_for_vfork_done kernel_clone __do_sys_vfork", Wait{WaitExit, "", "wait_for_vfork_done", "yes", ""}},
		"network configuration":   {"", "rtnl_lock rtnetlink_rcv_msg netlink_rcv_skb", Wait{WaitOtherDisk, "", "rtnl_lock", "", ""}},
		"rcu":                     {"", "synchronize_rcu_expedited namespace_unlock do_umount", Wait{WaitOtherDisk, "", "synchronize_rcu_expedited", "no", ""}},
		"graphics driver":         {"", "os_acquire_mutex nv_open", Wait{WaitOtherDisk, "", "os_acquire_mutex", "", ""}},

		// No waits in a file system.
		"futex":            {"futex_do_wait", "futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex", Wait{}},
		"futex, old":       {"futex_wait_queue_me", "", Wait{}},
		"epoll":            {"ep_poll", "ep_poll do_epoll_wait __x64_sys_epoll_wait", Wait{}},
		"pipe":             {"anon_pipe_read", "anon_pipe_read vfs_read ksys_read", Wait{}},
		"socket":           {"", "inet_csk_accept inet_accept do_accept", Wait{}},
		"child":            {"do_wait", "do_wait kernel_wait4 __do_sys_wait4", Wait{}},
		"inotify":          {"wait_woken", "wait_woken inotify_read vfs_read", Wait{}},
		"file lock on nfs": {"", "locks_lock_inode_wait nfs_made_up do_flock", Wait{}},
		"nfsd thread":      {"", "svc_recv nfsd kthread", Wait{}},
		"hidden":           {"0", "", Wait{}},
		"nothing":          {"", "", Wait{}},
		"only primitives":  {"", "__schedule schedule", Wait{}},
	} {
		t.Run(name, func(t *testing.T) {
			sep := func(r rune) bool { return r == ' ' }
			if strings.Contains(tc.stack, "\n") {
				sep = func(r rune) bool { return r == '\n' }
			}
			got := ClassifyWait(tc.wchan, strings.FieldsFunc(tc.stack, sep))
			if (got.Meaning == "") != (got.Kind == WaitUnknown) {
				t.Errorf("Meaning = %q for kind %q", got.Meaning, got.Kind)
			}
			got.Meaning = ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ClassifyWait (-want +got):\n%s", diff)
			}
		})
	}
}

// TestClassifyCapturedThreads classifies the threads of real kubelets. What is true of them stands beside the captures:
// in two a single thread hangs in FUSE, in the others nothing hangs.
func TestClassifyCapturedThreads(t *testing.T) {
	hung := map[string]string{
		"kubelet-1.17.4-hung-cephfs":     "9839",
		"kubelet-1.34.4-hung-csi":        "11673",
		"kubelet-1.17.4-orphan-leftover": "",
		"kubelet-1.34.4-runtime-stopped": "",
		"kubelet-1.34.4-unmount-busy":    "",
	}
	for name, tid := range hung {
		t.Run(name, func(t *testing.T) {
			want := map[string]Wait{}
			if tid != "" {
				want[tid] = Wait{Kind: WaitFUSE, FS: "fuse", Function: "request_wait_answer"}
			}
			threads := readCapture(t, filepath.Join("testdata", name+".threads.txt"))
			got := map[string]Wait{}
			for _, thread := range threads {
				wait, selected := ThreadWait("S", thread.wchan, thread.syscall, thread.stack)
				if selected {
					wait.Meaning = ""
					got[thread.id] = wait
				}
				if quick := Idle([]byte(thread.wchan)); quick == selected {
					t.Errorf("thread %s in %s: idle = %t, selected = %t", thread.id, thread.wchan, quick, selected)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("waiting threads (-want +got):\n%s", diff)
			}
			if len(threads) < 10 {
				t.Errorf("capture has %d threads", len(threads))
			}
		})
	}
}

// TestClassifyNFSThreads classifies the threads that real kernels let wait for an NFS server that nobody answers for:
// write, flock, stat, opendir and statfs by versions 3, 4.1 and 4.2, and one that creates a file in a directory in which
// another may look up a name. Recorded in virtual machines with the kernels of Debian: 5.10.223 (which tells no wait
// channel: wchan is 0), 6.1.176 and 6.12.107.
func TestClassifyNFSThreads(t *testing.T) {
	for name, want := range map[string]int{"linux-5.10-nfs": 1, "linux-6.1-nfs": 1, "linux-6.12-nfs": 0} {
		t.Run(name, func(t *testing.T) {
			locked := 0
			threads := readCapture(t, filepath.Join("testdata", name+".threads.txt"))
			for _, thread := range threads {
				wait, selected := ThreadWait("D", thread.wchan, thread.syscall, thread.stack)
				switch {
				case selected && wait.Kind == WaitServer && wait.FS == "nfs" && wait.Kill == "yes":
				case selected && wait.Kind == WaitFSLock && wait.Kill == "no":
					locked++
				default:
					t.Errorf("thread %s in %s, %q: %t %+v", thread.id, thread.wchan, thread.stack, selected, wait)
				}
				if Idle([]byte(thread.wchan)) {
					t.Errorf("thread %s in %s is taken for idle", thread.id, thread.wchan)
				}
			}
			if len(threads) != 12 || locked != want {
				t.Errorf("%d threads, of which %d wait for the lock of a directory; want 12 and %d", len(threads), locked, want)
			}
		})
	}
}

// TestClassifyServersAndDisks classifies threads that Linux 6.1 let wait for SMB and Ceph servers and disks that were known
// not to answer; see testdata/README.md.
func TestClassifyServersAndDisks(t *testing.T) {
	want := map[string]string{
		"1029": "server cifs yes", "1035": "server cifs yes", // smbd stopped: df on SMB 3.1.1 and 1.0
		"1031": "server cifs yes", "1032": "server cifs ", "1036": "server cifs ", // the connection is made anew by the first; SIGKILL did not end the last
		"4926": "fs-lock  no", "4927": "server ceph yes", "4928": "server ceph yes", // MDS stopped: ls behind the mkdir, df
		"5344": "server ceph ", "5347": "server ceph ", // OSD stopped: read, fsync
		"6060": "server ceph yes",                                                 // monitor stopped: statfs
		"3794": "journal ext4 no", "4375": "block  no", "4378": "journal ext4 no", // a disk that does not answer
		"146": "block  no", "2857": "block ext4 no", // no path: a loop device's worker, a look-up
		"489": "block  no", "490": "frozen  no", // dmsetup suspend: read, create
		"681": "journal ext4 no", "684": "block ext4 no", "739": "block ext4 no", // iSCSI session lost
	}
	got := map[string]string{}
	for _, thread := range readCapture(t, filepath.Join("testdata", "linux-6.1-servers-and-disks.threads.txt")) {
		wait, _ := ThreadWait("D", thread.wchan, thread.syscall, thread.stack)
		got[thread.id] = fmt.Sprintf("%s %s %s", wait.Kind, wait.FS, wait.Kill)
		if Idle([]byte(thread.wchan)) {
			t.Errorf("thread %s in %s is taken for idle", thread.id, thread.wchan)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

type capturedThread struct {
	id, wchan, syscall string
	stack              []string
}

// readCapture reads a file of lines "## 9839 kubelet state=S wchan=… syscall=…" each followed by a stack.
func readCapture(t *testing.T, name string) []capturedThread {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	header := regexp.MustCompile(`^## (?:tid=)?(\d+) .*state=[SD] wchan=(\S+) syscall=(.*)$`)
	var threads []capturedThread
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if m := header.FindStringSubmatch(lines.Text()); m != nil {
			threads = append(threads, capturedThread{id: m[1], wchan: m[2], syscall: m[3]})
			continue
		}
		last := &threads[len(threads)-1]
		last.stack = append(last.stack, ParseStack(lines.Text()+"\n")...)
	}
	return threads
}

// TestTables finds what the tables cannot say themselves: a function that stands in two families means one thing or the
// other by chance, and one that is a primitive or idle is never looked up.
func TestTables(t *testing.T) {
	for title, list := range map[string][]family{"families": families, "topFamilies": topFamilies} {
		seen := map[string]bool{}
		for _, f := range list {
			for name := range strings.FieldsSeq(f.names) {
				if seen[name] {
					t.Errorf("%s: %s stands there twice", title, name)
				}
				seen[name] = true
				if locks[name] || percpuLocks[name] || primitives[name] || idleFunctions[name] {
					t.Errorf("%s: %s is also a primitive or idle", title, name)
				}
				if frameName(name) != name {
					t.Errorf("%s: %s is not a plain name but %s", title, name, frameName(name))
				}
			}
			if c := f.cause; c.Kind == WaitUnknown || c.Meaning == "" {
				t.Errorf("%s: a cause without kind or meaning: %q", title, f.names)
			}
		}
	}
	for name := range topFrames() {
		if anyFrames()[name] != nil {
			t.Errorf("%s decides both anywhere and on top", name)
		}
	}
}

func TestParseStack(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"6.18": {
			"[<0>] request_wait_answer+0x112/0x210\n[<0>] do_compat_epoll_pwait.part.0+0xe/0x80\n",
			[]string{"request_wait_answer", "do_compat_epoll_pwait.part.0"},
		},
		"module":             {"[<0>] nfs_getattr+0x1/0x2 [nfs]\n", []string{"nfs_getattr"}},
		"el7":                {"[<ffffffff8b388b58>] call_rwsem_down_read_failed+0x18/0x30\n[<ffffffffffffffff>] 0xffffffffffffffff\n", []string{"call_rwsem_down_read_failed"}},
		"uncertain frame":    {"[<0>] ? vfs_read+0x1/0x2\n", []string{"vfs_read"}},
		"addresses withheld": {"[<0>] 0x0\n", []string{}},
		"empty":              {"", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ParseStack(tc.text)); diff != "" {
				t.Errorf("ParseStack (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzClassifyWait(f *testing.F) {
	files, err := filepath.Glob("testdata/*.threads.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no captures", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for thread := range strings.SplitSeq(string(text), "## ") {
			f.Add("request_wait_answer", thread)
		}
	}
	f.Add("percpu_rwsem_wait", "percpu_rwsem_wait\n__percpu_down_read\nvfs_write")
	f.Add("0", "0x\npath_openat")
	f.Fuzz(func(t *testing.T, wchan, stack string) {
		frames := ParseStack(stack)
		w := ClassifyWait(wchan, frames)
		if w.Kind == WaitUnknown {
			if w != (Wait{}) {
				t.Errorf("unknown, but %+v", w)
			}
			return
		}
		if w.Meaning == "" {
			t.Errorf("no meaning: %+v", w)
		}
		known := append(slices.Clone(frames), wchan)
		if !slices.ContainsFunc(known, func(frame string) bool { return frameName(frame) == w.Function }) {
			t.Errorf("function %q is not among %q", w.Function, known)
		}
		if again := ClassifyWait(wchan, strings.Split(stack, "\n")); len(frames) > 0 && again.Kind != w.Kind {
			t.Errorf("lines give %+v, names %+v", again, w)
		}
	})
}

func BenchmarkClassifyWait(b *testing.B) {
	stack := []string{
		"request_wait_answer", "__fuse_simple_request", "fuse_do_getattr", "vfs_getattr_nosec", "vfs_statx",
		"vfs_fstatat", "__do_sys_newfstatat", "do_syscall_64", "entry_SYSCALL_64_after_hwframe",
	}
	b.ReportAllocs()
	for b.Loop() {
		if ClassifyWait("request_wait_answer", stack).Kind != WaitFUSE {
			b.Fatal("not recognised")
		}
	}
}

// TestFileSystemsAreKnown: a wait names a file system as the table does that mounts are looked up in, or no wait meets its mount.
func TestFileSystemsAreKnown(t *testing.T) {
	for _, list := range [][]family{families, topFamilies, prefixes} {
		for _, f := range list {
			if f.cause == nil || f.cause.FS == "" {
				continue
			}
			if known := fsfamily.Of(f.cause.FS); known.Name != f.cause.FS || known.Class == fsfamily.Unknown {
				t.Errorf("%q, of the functions %s, is family %q, class %s", f.cause.FS, f.names, known.Name, known.Class)
			}
		}
	}
}
