// Package fs asks for the size of a file system.
package fs

import "syscall"

// RealFsInfo asks the kernel.
type RealFsInfo struct{ calls int }

// GetFsInfoForPath never returns.
func (i *RealFsInfo) GetFsInfoForPath(path string) uint64 {
	i.calls++
	size := getVfsStats(path)
	i.calls--
	return size
}

func getVfsStats(path string) uint64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0
	}
	return s.Blocks
}
