package procs

import "testing"

func TestWaitsElsewhere(t *testing.T) {
	stacks := map[string]struct {
		stack []string
		want  bool
	}{
		"unmounting":               {[]string{"folio_wait_bit+0x1/0x2", "sync_inodes_sb", "generic_shutdown_super", "kill_block_super", "cleanup_mnt"}, true},
		"mounting":                 {[]string{"submit_bio_wait", "xlog_do_io", "xfs_fs_fill_super", "get_tree_bdev", "vfs_get_tree", "path_mount"}, true},
		"remounting":               {[]string{"folio_wait_bit", "sync_inodes_sb", "sync_filesystem", "reconfigure_super", "path_mount"}, false},
		"memory is freed for it":   {[]string{"folio_wait_writeback", "shrink_folio_list", "try_to_free_mem_cgroup_pages", "filemap_read"}, true},
		"syncing":                  {[]string{"wb_wait_for_completion", "sync_inodes_sb", "sync_filesystem", "__x64_sys_syncfs"}, false},
		"nothing known of a stack": {nil, false},
	}
	for name, tt := range stacks {
		if got := WaitsElsewhere(tt.stack); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
