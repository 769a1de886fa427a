package procs

import "slices"

// superblockFrames are the functions that read a superblock in order to mount it, and those that write the rest of one
// after its last unmount. The path of the system call then leads to the mount below.
var superblockFrames = words(`
	vfs_get_tree vfs_kern_mount mount_fs mount_bdev mount_nodev get_tree_bdev get_tree_bdev_flags get_tree_nodev
	generic_shutdown_super kill_block_super kill_anon_super deactivate_locked_super deactivate_super cleanup_mnt __cleanup_mnt`)

// WaitsElsewhere says whether a thread waits for something else than the object of its system call: a superblock that is
// being mounted or has been unmounted, or pages of any file that must be written to free memory.
func WaitsElsewhere(stack []string) bool {
	return slices.ContainsFunc(stack, func(line string) bool {
		name := frameName(line)
		return superblockFrames[name] || reclaim[name]
	})
}
