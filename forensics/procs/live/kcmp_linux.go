package live

import "golang.org/x/sys/unix"

// ownFiles lists those of some threads that do not share the descriptors of the first, as after unshare(2) with CLONE_FILES.
// kcmp(2) tells that (CONFIG_KCMP; Linux 3.5) to those who may trace the process, and no other file does. It takes the exec
// locks of the threads, for which it may have to wait. Threads of which it tells nothing are not listed.
func ownFiles(first int, others []int) []int {
	const files = 2 // KCMP_FILES
	var separate []int
	for _, tid := range others {
		order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(first), uintptr(tid), files, 0, 0, 0)
		if errno == 0 && order != 0 {
			separate = append(separate, tid)
		}
	}
	return separate
}
