package procs

import "testing"

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
