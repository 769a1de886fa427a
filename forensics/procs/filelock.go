package procs

import "slices"

// The functions that ask for a lock of a file on behalf of a program, and those that let go of one, for which nobody waits.
var (
	lockRequests = words(`
		do_setlk nfs_lock nfs_flock nfs3_proc_lock nfs4_proc_lock nfs4_proc_setlk nfs4_retry_setlk nfs4_retry_setlk_simple
		nlmclnt_proc nlmclnt_lock nlmclnt_block nlmclnt_wait
		fuse_setlk fuse_file_lock fuse_file_flock ceph_lock ceph_flock ceph_lock_message ceph_lock_wait_for_completion
		cifs_lock cifs_flock cifs_setlk cifs_posix_lock_set SMB2_lock smb2_lockv
		v9fs_file_do_lock v9fs_file_lock_dotl v9fs_file_flock_dotl gfs2_lock gfs2_flock ocfs2_lock ocfs2_flock ll_file_flock
		vfs_lock_file fcntl_setlk fcntl_setlk64 do_lock_file_wait`)
	lockReleases = words(`do_unlk locks_remove_posix locks_remove_file locks_remove_flock filp_flush filp_close`)
	// nfsLockWaits are where the NFS client sleeps between two tries. Its requests for a lock are answered at once.
	nfsLockWaits = words(`
		do_setlk nfs3_proc_lock nfs4_proc_lock nfs4_proc_setlk nfs4_retry_setlk nfs4_retry_setlk_simple
		nlmclnt_proc nlmclnt_lock nlmclnt_block nlmclnt_wait`)
)

func asksForLock(frames []string) bool {
	return slices.ContainsFunc(frames, func(name string) bool { return lockRequests[name] }) &&
		!slices.ContainsFunc(frames, func(name string) bool { return lockReleases[name] })
}

// forLock is the wait of a thread that has asked for a lock of a file.
func (w Wait) forLock() Wait {
	if w.Kind != WaitServer && w.Kind != WaitFUSE || w.FS == "nfs" && !nfsLockWaits[w.Function] {
		return w // WaitRetry says more
	}
	w.Kind = WaitFileLock
	w.Meaning = "It waits for a file lock (flock, fcntl) that another program may have, perhaps on another machine. " +
		"This is no hang, unless the server does not answer other calls either."
	return w
}

// forLock says whether a system call waits for a lock of a file that another program has.
func (s *Syscall) forLock() bool {
	const (
		lockNonblocking, lockUnlock = 4, 8  // of flock(2)
		setAndWait, setOpenAndWait  = 7, 38 // F_SETLKW and F_OFD_SETLKW of fcntl(2)
	)
	if len(s.Args) < 2 {
		return false
	}
	command, _ := parseWord(s.Args[1])
	switch s.Name {
	case "flock":
		return command&(lockNonblocking|lockUnlock) == 0
	case "fcntl":
		return command == setAndWait || command == setOpenAndWait
	}
	return false
}
