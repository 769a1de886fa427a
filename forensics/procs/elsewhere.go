package procs

import "slices"

// superblockFrames are the functions that read a superblock in order to mount it, and those that write what is left of one
// after the last mount of it has gone. Where the path of the system call leads to then is the mount below.
var superblockFrames = words(`
	vfs_get_tree vfs_kern_mount mount_fs mount_bdev mount_nodev get_tree_bdev get_tree_bdev_flags get_tree_nodev
	generic_shutdown_super kill_block_super kill_anon_super deactivate_locked_super deactivate_super cleanup_mnt __cleanup_mnt`)

// WaitsElsewhere says whether a thread waits for something else than what its system call was asked about: a superblock that is
// being mounted or has been unmounted, or pages of any file that have to be written before there is memory.
func WaitsElsewhere(stack []string) bool {
	return slices.ContainsFunc(stack, func(line string) bool {
		name := frameName(line)
		return superblockFrames[name] || reclaim[name]
	})
}
