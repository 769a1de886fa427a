// Package operationexecutor makes operations.
package operationexecutor

import (
	"sync/atomic"

	mount "k8s.io/mount-utils"
)

type operationGenerator struct{ child int64 }

// New makes one.
func New() *operationGenerator { return &operationGenerator{} }

// Child is the pid of the child of the operation that runs.
func (og *operationGenerator) Child() int { return int(atomic.LoadInt64(&og.child)) }

// GenerateUnmountVolumeFunc makes an unmount.
func (og *operationGenerator) GenerateUnmountVolumeFunc(path string) func() error {
	unmountVolumeFunc := func() error {
		mounter := &mount.Mounter{}
		err := mounter.Unmount(path, func(pid int) { atomic.StoreInt64(&og.child, int64(pid)) })
		atomic.StoreInt64(&og.child, 0)
		return err
	}
	return unmountVolumeFunc
}
