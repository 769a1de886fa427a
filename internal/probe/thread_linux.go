package probe

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread binds the goroutine to its thread, so that the thread can be named while it is stuck.
func onThread(enter func(tid int)) (leave func()) {
	runtime.LockOSThread()
	enter(unix.Gettid())
	return runtime.UnlockOSThread
}
