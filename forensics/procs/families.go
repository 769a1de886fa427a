package procs

// The tables below say which kernel function means what. Names have changed: where a family holds several names of one
// thing, the older ones come first or have the releases beside them. Sources: the kernel's fs/, mm/, block/ and
// net/sunrpc/ of 2.6.32 to 6.18, and stacks of hung machines in public bug reports.

// families decide in any frame.
var families = []family{
	// NFS client. Waits of the RPC layer are killable since 2.6.25.
	{&cause{WaitServer, "nfs", killable, "An NFS server has not answered a request.", false}, `
		rpc_wait_bit_killable __rpc_wait_for_completion_task rpc_wait_for_completion_task __rpc_execute rpc_execute
		rpc_run_task rpc_call_sync nfs4_call_sync_sequence nfs4_do_call_sync nfs3_rpc_wrapper
		nfs4_wait_clnt_recover nfs4_client_recover_expired_lease
		nfs_wait_client_init_complete nfs4_proc_statfs nfs_wait_bit_killable`},
	{&cause{
		WaitRetry, "nfs", killable,
		"An NFS server has answered that it is not ready (after its restart, or until another client releases the file); the client retries.",
		false,
	}, `nfs4_handle_exception nfs4_delay nfs4_delay_interruptible nfs4_delay_killable`},
	{&cause{WaitServer, "nfs", "", serverIO, false}, `
		nfs_wait_on_request nfs_wait_bit_uninterruptible nfs_wb_page nfs_wb_folio nfs_wb_all nfs_file_fsync nfs_commit_inode
		nfs_iocounter_wait nfs_file_direct_write nfs_file_direct_read nfs_direct_wait nfs_sync_mapping`},
	{&cause{WaitServer, "nfs", "", "An NFS file system is being unmounted, and its requests have not been answered.", false}, `
		nfs_umount_begin nfs_kill_super nfs4_kill_super nfs_free_server rpc_shutdown_client nlmclnt_done nfs_free_client
		nfs_put_client`},

	// CephFS: metadata servers, object servers, monitors.
	{&cause{WaitServer, "ceph", killable, "A Ceph metadata server (MDS) has not answered a request.", false}, `
		ceph_mdsc_do_request ceph_mdsc_wait_request ceph_mdsc_submit_request __ceph_do_getattr ceph_do_getattr
		ceph_wait_on_conflict_unlink ceph_wait_on_async_create wait_caps_flush ceph_mdsc_sync`},
	{&cause{
		WaitServer, "ceph", killable,
		"A Ceph metadata server (MDS) has not granted access to a file; another client may have it.", false,
	}, `ceph_get_caps __ceph_get_caps try_get_cap_refs ceph_try_get_caps`},
	{&cause{WaitServer, "ceph", "", "Ceph storage daemons (OSDs) have not answered.", false}, `
		ceph_osdc_wait_request wait_request_timeout ceph_osdc_sync ceph_fsync ceph_sync_fs ceph_writepages_start`},
	{&cause{WaitServer, "ceph", killable, "A Ceph monitor has not answered.", false}, `
		ceph_monc_do_statfs ceph_monc_get_version wait_generic_request ceph_monc_wait_osdmap __ceph_open_session`},

	// FUSE, virtiofs.
	{&cause{
		WaitFUSE, "fuse", "",
		"The FUSE server has not answered a request; SIGKILL helps only if the server has not yet taken the request.", false,
	}, `
		request_wait_answer fuse_request_send __fuse_request_send fuse_simple_request __fuse_simple_request
		fuse_do_getattr fuse_update_get_attr fuse_lookup_name fuse_dentry_revalidate fuse_statfs fuse_permission fuse_readdir
		fuse_flush fuse_send_readpages virtio_fs_enqueue_req`},
	{&cause{WaitFUSE, "fuse", "", "Writing to a FUSE file system waits for its server.", false}, `
		fuse_wait_on_page_writeback fuse_wait_on_folio_writeback fuse_sync_writes fuse_set_nowrite fuse_writepages`},
	{&cause{
		WaitFUSE, "fuse", killable,
		"The FUSE connection accepts no more requests: earlier ones have not been answered, or it is not set up yet.", false,
	}, `fuse_get_req __fuse_get_req fuse_get_unique fuse_block_alloc`},

	// CIFS, 9p, cluster file systems.
	{&cause{WaitServer, "cifs", killable, "An SMB server has not answered a request.", false}, `
		wait_for_response SendReceive SendReceive2 cifs_send_recv compound_send_recv cifs_reconnect
		cifs_wait_for_server_reconnect SMB2_QFS_info`},
	{&cause{WaitServer, "cifs", killable, "An SMB server allows no further requests until it has answered earlier ones.", false}, `
		wait_for_free_request wait_for_free_credits wait_for_compound_request`},
	{&cause{WaitServer, "9p", "", "The server of a 9p file system, mostly the host of a virtual machine, has not answered.", false}, `
		p9_client_rpc p9_client_zc_rpc p9_virtio_request p9_virtio_zc_request`},
	{&cause{WaitServer, "gfs2", "", "Another node of the cluster has not released a lock.", false}, `
		gfs2_glock_wait gfs2_glock_nq gfs2_glock_async_wait dlm_posix_lock`},
	{&cause{WaitServer, "ocfs2", "", "Another node of the cluster has not released a lock.", false}, `
		ocfs2_wait_for_mask __ocfs2_cluster_lock ocfs2_wait_for_recovery`},
	{&cause{WaitServer, "lustre", "", "A Lustre server has not answered.", false}, `
		ptlrpc_set_wait ptlrpc_queue_wait ldlm_completion_ast cl_sync_io_wait osc_extent_wait`},
	{&cause{WaitServer, "gpfs", "", "GPFS (Spectrum Scale) has not answered.", false}, `cxiWaitEventWait`},

	// autofs.
	{&cause{WaitAutofs, "autofs", killable, "The automount daemon has not answered.", false}, `
		autofs4_wait autofs_wait autofs_mount_wait autofs4_mount_wait autofs_do_expire_multi`},

	// Journals. jbd2 also serves ocfs2; a frame further out says so.
	{&cause{WaitJournal, "ext4", unkillable, "The journal of an ext4 file system has not been written.", false}, `
		jbd2_log_wait_commit jbd2_journal_commit_transaction wait_transaction_locked wait_transaction_switching
		add_transaction_credits start_this_handle do_get_write_access jbd2_journal_get_write_access jbd2_complete_transaction
		__jbd2_log_wait_for_space jbd2_log_do_checkpoint jbd2_journal_flush jbd2_journal_destroy jbd2_journal_lock_updates
		jbd2_trans_will_send_data_barrier jbd2_journal_stop jbd2_journal_force_commit jbd2_journal_wait_updates ext4_fc_commit jbd2_fc_begin_commit
		log_wait_commit journal_commit_transaction`},
	{&cause{WaitJournal, "xfs", unkillable, "The log of an xfs file system has not been written.", false}, `
		xfs_log_force xfs_log_force_lsn xfs_log_force_seq xfs_log_force_umount xlog_grant_head_wait xlog_grant_head_check
		xlog_wait xlog_wait_on_iclog xlog_state_get_iclog_space xlog_cil_force_lsn xlog_cil_force_seq xlog_cil_order_write
		xlog_cil_push_work xlog_force_lsn xlog_force_and_wait_iclog xfs_ail_push_all_sync xfsaild xfsaild_push
		xfs_log_quiesce xfs_trans_reserve xfs_log_reserve`},
	{&cause{WaitJournal, "btrfs", unkillable, "A transaction of a btrfs file system has not been written.", false}, `
		wait_current_trans wait_for_commit btrfs_commit_transaction btrfs_wait_for_commit btrfs_sync_log join_transaction
		start_transaction wait_log_commit`},
	{&cause{WaitJournal, "zfs", unkillable, "A transaction group of a zfs pool has not been written.", false}, `
		txg_wait_synced txg_wait_synced_impl txg_wait_open txg_quiesce_thread zil_commit zil_commit_impl dmu_tx_wait`},

	// Frozen file systems. In between, sb_start_write was inlined, see percpuLocks.
	{&frozenFS, `__sb_start_write sb_start_write sb_start_pagefault sb_start_intwrite mnt_want_write mnt_want_write_file`},
	{&cause{WaitFrozen, "", unkillable, "Freezing or thawing this file system has not finished.", false}, `
		freeze_super thaw_super sb_wait_write freeze_bdev thaw_bdev bdev_freeze bdev_thaw wait_for_partially_frozen`},

	// Dirty pages. Throttled writers go on as long as something is written.
	{&cause{
		WaitWriteback, "", killable,
		"The kernel throttles the writer because too much unwritten data is in memory. This is no hang as long as the data is written.", false,
	}, `balance_dirty_pages balance_dirty_pages_ratelimited balance_dirty_pages_ratelimited_flags`},

	// The control groups' own freezer.
	{&cause{WaitFreezer, "", unkillable, "The process is in a frozen cgroup (v1 freezer) or the machine is being suspended.", false}, `
		__refrigerator refrigerator try_to_freeze`},
	{&cause{WaitFreezer, "", killable, "The process is in a frozen cgroup.", false}, `do_freezer_trap`},

	// The end of other processes.
	{&cause{
		WaitExit, "", unkillable,
		"The first process of a container has ended and waits until all others of its PID namespace have ended.", false,
	}, `zap_pid_ns_processes`},
	{&dumped, `coredump_task_exit coredump_wait`},
	{&vforked, `wait_for_vfork_done`},

	// cgroups.
	{&cgroupLock, `
		cgroup_kn_lock_live cgroup_lock_and_drain_offline cgroup_rmdir cgroup_mkdir proc_cgroup_show proc_cgroupstats_show
		cgroup_attach_task cgroup_attach_task_all cgroup_procs_write_start cgroup_procs_write __cgroup_procs_write
		__cgroup1_procs_write cgroup1_procs_write cgroup_tasks_write cgroup_subtree_control_write cgroup_destroy_locked
		cgroup_apply_control cgroup_get_tree cgroup_do_get_tree cgroup1_get_tree cgroup1_mount cgroup_mount
		rebuild_sched_domains rebuild_sched_domains_locked cpuset_hotplug_workfn cpuset_write_resmask cpuset_handle_hotplug
		mem_cgroup_css_offline drain_all_stock kmemcg_deactivate_workfn css_killed_work_fn cgroup_path_from_kernfs_id
		cgroup_kill_write cgroup_freeze_write`},

	// Locks that say whose they are.
	{&cause{
		WaitFSLock, "", unkillable,
		"Another thread has locked the mount table, usually one that mounts or unmounts.", false,
	}, `namespace_lock lock_mount do_lock_mount`},
	{&cause{
		WaitFSLock, "", unkillable,
		"Another thread has locked a superblock: mounting, unmounting or syncing that file system has not finished.",
		false,
	}, `grab_super super_lock iterate_supers iterate_supers_type user_get_super super_trylock_shared`},
	{&cause{WaitFSLock, "", unkillable, "Another thread is looking up the same name, or the same inode is being freed.", false}, `
		d_alloc_parallel d_wait_lookup __wait_on_freeing_inode find_inode find_inode_fast wait_on_inode wait_on_new_inode`},
	{&cause{
		WaitFSLock, "", killable,
		"A program that must permit every access (fanotify, usually a virus scanner) has not answered.", false,
	}, `fanotify_handle_event fanotify_get_response fanotify_get_response_from_access`},
	{&cause{WaitFSLock, "xfs", unkillable, "Another thread has locked part of xfs, and waits itself.", false}, `
		xfs_buf_lock xfs_ilock xfs_ilock_data_map_shared xfs_ilock_attr_map_shared xfs_ilock_nowait xfs_reclaim_inode xfs_reclaim_inodes_ag
		xfs_inodegc_flush xfs_inodegc_push xfs_iget_cache_hit`},
	{&cause{WaitFSLock, "btrfs", unkillable, "Another thread has locked part of btrfs, and waits itself.", false}, `
		btrfs_tree_lock btrfs_tree_read_lock __btrfs_tree_lock __btrfs_tree_read_lock btrfs_tree_lock_nested
		btrfs_tree_read_lock_nested btrfs_lock_root_node btrfs_read_lock_root_node btrfs_inode_lock`},

	// Pages and blocks, on whose behalf the frames further out say.
	{&pageIO, `
		folio_wait_bit_common folio_wait_bit folio_wait_bit_killable folio_wait_writeback folio_wait_writeback_killable
		folio_wait_stable __folio_lock __folio_lock_killable __folio_lock_or_retry folio_wait_private_2
		wait_on_page_bit wait_on_page_bit_killable wait_on_page_bit_common wait_on_page_writeback put_and_wait_on_page_locked
		__lock_page __lock_page_killable __lock_page_or_retry lock_page wait_for_stable_page sleep_on_page sleep_on_page_killable
		sync_page sleep_on_buffer sync_buffer wait_on_buffer __wait_on_buffer __lock_buffer __bread __bread_gfp
		bh_read __bh_read __bh_read_batch __block_write_begin __block_write_begin_int ext4_block_write_begin
		read_extent_buffer_pages read_extent_buffer_pages_nowait btrfs_start_ordered_extent btrfs_start_ordered_extent_nowriteback
		__sync_dirty_buffer filemap_fdatawait_range __filemap_fdatawait_range filemap_fdatawait_keep_errors
		filemap_write_and_wait_range file_write_and_wait_range
		submit_bio_wait blk_io_schedule xfs_buf_iowait dio_await_one __blockdev_direct_IO do_blockdev_direct_IO
		iomap_dio_rw __iomap_dio_rw inode_dio_wait __inode_dio_wait
		blk_mq_get_tag blk_mq_freeze_queue_wait blk_mq_submit_bio wbt_wait rq_qos_wait get_request blk_queue_enter bio_queue_enter
		__bio_queue_enter blkdev_issue_flush __blkdev_issue_flush blk_execute_rq blkdev_put blkdev_close blkdev_get bd_acquire
		bdev_release blk_throtl_bio __blk_throtl_bio bio_integrity_wait
		sync_inodes_sb wb_wait_for_completion inode_wait_for_writeback __inode_wait_for_writeback wait_sb_inodes
		sync_blockdev __sync_blockdev sync_bdevs swap_readpage swap_read_folio swap_writepage
		md_super_wait md_write_start md_flush_request wait_barrier raise_barrier raid5_get_active_stripe raid5_make_request
		raid10_make_request raid1_make_request dm_wait_for_completion dm_suspend dm_pool_commit_metadata
		scsi_block_when_processing_errors scsi_execute scsi_execute_cmd scsi_error_handler lo_release __loop_clr_fd`},

	// Not file systems: named so that the reason is known. These count only for threads in state D.
	{&cause{WaitOtherDisk, "", unkillable, "A network device cannot be removed because it is still in use.", false}, `
		netdev_wait_allrefs netdev_wait_allrefs_any`},
	{&cause{WaitOtherDisk, "", unkillable, "The kernel waits for all CPUs to pass a quiescent state (RCU, SRCU).", false}, `
		synchronize_rcu synchronize_rcu_expedited synchronize_rcu_normal synchronize_srcu __synchronize_srcu
		synchronize_srcu_expedited __wait_rcu_gp wait_rcu_gp rcu_barrier exp_funnel_lock synchronize_sched`},
}

// topFamilies decide in the innermost frame only.
var topFamilies = []family{
	{&vforked, `kernel_clone _do_fork do_fork`}, // what waits in them for something else has a frame further in
	{&cause{
		WaitServer, "cifs", "", "This thread, or one that it waits for, is reconnecting to an SMB server.", false,
	}, `cifs_reconnect_tcon smb2_reconnect`},
	// Stacks and wchan leave out the functions of the scheduler and of locks, and __wait_on_buffer ends with a jump to one: a
	// function that reads a block is innermost, as one that takes a lock is.
	{&cause{WaitBlock, "ext4", unkillable, blockIO.Meaning, false}, `
		ext4_read_bh ext4_read_bh_lock ext4_bread ext4_bread_batch ext4_sb_bread ext4_sb_bread_unmovable __ext4_sb_bread_gfp
		ext4_find_entry __ext4_find_entry ext4_get_inode_loc __ext4_get_inode_loc __ext4_read_dirblock __read_extent_tree_block
		ext4_wait_block_bitmap ext4_read_block_bitmap ext4_read_inode_bitmap`},
	{&cause{
		WaitFSLock, "", unkillable,
		"Another thread has locked a directory: its operation in that directory has not finished.", false,
	}, `
		lookup_slow __lookup_slow walk_component path_openat do_last open_last_lookups do_unlinkat do_rmdir filename_create
		filename_unlinkat filename_rmdir filename_renameat2 start_dirop __start_dirop start_creating start_removing
		lock_rename lock_rename_child lock_two_directories do_renameat2 start_renaming __start_renaming
		vfs_unlink vfs_rmdir vfs_rename vfs_mkdir vfs_create vfs_symlink
		vfs_link do_mkdirat do_mknodat do_symlinkat do_linkat kern_path_locked lookup_one_len lookup_one_unlocked path_lookupat
		link_path_walk`},
	{&cause{
		WaitFSLock, "", killable,
		"Another thread has locked a directory: its operation in that directory has not finished.", false,
	}, `iterate_dir vfs_readdir wrap_directory_iterator`},
	{&cause{
		WaitFSLock, "", unkillable,
		"Another thread has locked a file: its operation on that file has not finished.", false,
	}, `
		chmod_common chown_common do_truncate do_sys_ftruncate vfs_utimes utimes_common vfs_setxattr vfs_removexattr
		notify_change generic_file_write_iter generic_file_llseek vfs_fallocate default_llseek fdget_pos __fdget_pos
		simple_xattr_set locks_remove_posix lock_two_nondirectories vfs_dedupe_file_range vfs_clone_file_range`},
	{&cause{
		WaitFSLock, "", unkillable,
		"Another thread has locked a superblock: mounting, unmounting or syncing that file system has not finished.",
		false,
	}, `
		deactivate_super sync_filesystem sget sget_fc reconfigure_super do_remount do_umount path_umount sys_umount
		generic_shutdown_super writeback_inodes_sb try_to_writeback_inodes_sb sync_fs_one_sb get_tree_bdev get_tree_bdev_flags`},
	{&cause{
		WaitFSLock, "", unkillable,
		"Another thread has locked the mount table, usually one that mounts or unmounts.", false,
	}, `
		copy_mnt_ns do_loopback do_move_mount do_new_mount do_add_mount attach_recursive_mnt do_change_type path_mount
		mntns_install drop_collected_mounts put_mnt_ns do_mount_setattr sys_pivot_root`},
	{&cause{
		WaitOtherDisk, "", "",
		"Another thread has locked the network configuration (RTNL or network namespaces).", false,
	}, `
		rtnl_lock rtnl_lock_killable rtnetlink_rcv_msg copy_net_ns cleanup_net setup_net netdev_run_todo
		unregister_netdevice_many unregister_netdevice_many_notify unregister_netdev register_netdevice_notifier
		unregister_netdevice_notifier register_pernet_subsys register_pernet_device`},
	{&dumped, `exit_mm`},
	{&cause{
		WaitMmapLock, "", "",
		"Another thread has locked the memory map of a process and is blocked itself, for example in a page fault.", false,
	}, `
		do_page_fault __do_page_fault do_user_addr_fault exc_page_fault lock_mm_and_find_vma do_translation_fault do_mem_abort
		vm_mmap_pgoff vm_munmap __vm_munmap sys_brk sys_mprotect sys_munmap sys_mremap sys_mlock sys_madvise do_mprotect_pkey
		do_madvise madvise_lock do_mlock __mm_populate mlock_fixup sys_msync sys_mincore
		__access_remote_vm access_remote_vm get_user_pages_unlocked get_user_pages_remote __get_user_pages_remote
		pin_user_pages_remote process_vm_rw process_vm_rw_core process_vm_rw_single_vec
		proc_pid_cmdline_read get_mm_cmdline get_task_cmdline environ_read m_start proc_get_vma show_smaps_rollup
		show_smap pagemap_read clear_refs_write smaps_rollup_show task_mem query_vma_setup do_procmap_query
		dup_mmap dup_mm exit_mmap __mmput setup_arg_pages khugepaged_scan_mm_slot unuse_mm`},
}

// prefixes are the names that the functions of a subsystem begin with, for those that no family has. Where a file system
// of this machine's disks is on top of the stack, with no wait for I/O further in, the thread waits for a lock.
var prefixes = []family{
	{&cause{WaitServer, "nfs", killable, "An NFS server has not answered a request.", false}, `
		nfs_ __nfs_ _nfs_ nfs3_ nfs4_ _nfs4_ nfs40_ nfs41_ nfs42_ rpc_ __rpc_ xprt_ nlmclnt_ pnfs_ ff_layout_ filelayout_`},
	{&cause{WaitServer, "ceph", "", "A Ceph server has not answered.", false}, `ceph_ __ceph_`},
	{&cause{WaitServer, "cifs", killable, "An SMB server has not answered a request.", false}, `
		cifs_ smb2_ SMB2_ smb3_ CIFSSMB CIFS_`},
	{&cause{WaitServer, "9p", "", "The server of a 9p file system has not answered.", false}, `p9_ v9fs_`},
	{&cause{WaitServer, "afs", killable, "An AFS server has not answered.", false}, `afs_ rxrpc_`},
	{&cause{WaitServer, "lustre", "", "A Lustre server has not answered.", false}, `ll_file_ ll_getattr ldlm_ ptlrpc_ osc_ mdc_ lov_`},
	{&cause{WaitServer, "gfs2", "", "Another node of the cluster has not released a lock.", false}, `gfs2_`},
	{&cause{WaitServer, "ocfs2", "", "Another node of the cluster has not released a lock.", false}, `ocfs2_ __ocfs2_ dlm_`},
	{nil, `fuse_dev_ fuse_uring_ fuse_ctl_ fuse_conn_`}, // the server's side
	{&cause{WaitFUSE, "fuse", "", "The FUSE server has not answered a request.", false}, `fuse_ __fuse_ virtio_fs_`},
	{&cause{WaitAutofs, "autofs", killable, "The automount daemon has not answered.", false}, `autofs_ autofs4_`},
	{localFS("ext4"), `ext4_ __ext4_ jbd2_ ext3_ ext2_`},
	{localFS("xfs"), `xfs_ __xfs_ xlog_`},
	{localFS("btrfs"), `btrfs_ __btrfs_`},
	{localFS("zfs"), `zfs_ zpl_ zio_ zil_ txg_ dmu_ dbuf_ spa_ arc_`},
	{localFS("bcachefs"), `bch2_`},
	{localFS("f2fs"), `f2fs_`},
	{localFS("overlay"), `ovl_`},
	{localFS("ntfs3"), `ntfs_ ni_`},
	{&pageIO, `
		blk_ __blk_ bio_ dm_ __dm_ md_ raid1_ raid5_ raid10_ nbd_ drbd_ rbd_ bch_ cached_dev_ loop_ scsi_ sd_ nvme_ virtblk_
		iomap_ swap_`},
	{&cause{WaitOtherDisk, "", "", "The driver of a GPU (NVIDIA) waits for its device.", false}, `nvidia_ nv_ uvm_ os_acquire_`},
}

func localFS(name string) *cause {
	return &cause{
		WaitFSLock, name, unkillable, "Another thread has locked part of " + name + ", and waits itself.", false,
	}
}
