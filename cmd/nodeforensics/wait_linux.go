package main

import (
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

// waitMain sleeps until it is told to end. As process 1 of a container it inherits the orphans there, and reaps them. Process 1 gets
// no signal that it does not handle, pid_namespaces(7).
func waitMain() int {
	end, orphans := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(orphans, syscall.SIGCHLD)
	debug.SetGCPercent(-1) // or else the Go runtime collects every two minutes
	debug.FreeOSMemory()
	for {
		for { // one signal may stand for several, and for those of before
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if pid <= 0 && !errors.Is(err, unix.EINTR) {
				break
			}
		}
		select {
		case <-end:
			return exitDone
		case <-orphans:
		}
	}
}
