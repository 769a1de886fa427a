// Command kubelet stands still as a kubelet does: the same functions by name call the same functions of the standard
// library, and those really wait. It is built with old and new releases of Go and dumped, so that the checks are tested
// against what the Go runtime prints and not only against what somebody wrote down. It has to compile with Go 1.9.
//
//	kubelet PATH DIR
//
// All goroutines ask for PATH, which hangs. When they stand, it prints "ready" and the pid of its child. SIGUSR1 makes it
// write DIR/debug2, DIR/debug1 and DIR/debug0 and print "dumped".
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"k8s.io/kubernetes/cmd/kubelet/app"
)

// The kernel gives a signal to the first thread, where that may have it. It must not be one of those that wait, as it
// would not take it before the mount answers.
func init() { runtime.LockOSThread() }

func main() {
	go app.Run(os.Args[1])
	serveDumps(os.Args[2])
}

func serveDumps(dir string) {
	wanted := make(chan os.Signal, 1)
	signal.Notify(wanted, syscall.SIGUSR1)
	for !stands() {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("ready", app.Child())
	for range wanted {
		for debug := 0; debug <= 2; debug++ {
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("debug%d", debug)))
			if err != nil {
				panic(err)
			}
			if err := pprof.Lookup("goroutine").WriteTo(f, debug); err != nil {
				panic(err)
			}
			f.Close()
		}
		fmt.Println("dumped")
	}
}

// stands says whether every goroutine has come to where it waits.
func stands() bool {
	stacks := make([]byte, 1<<20)
	text := string(stacks[:runtime.Stack(stacks, true)])
	for _, function := range []string{
		"HandlePodCleanups", "syncBatch", "completeWork", "IsPodKnownTerminated", "getVfsStats", "calcAndStoreStats", "GenerateUnmountVolumeFunc",
	} {
		found := false
		for _, g := range strings.Split(text, "\n\n") {
			header := strings.SplitN(g, "\n", 2)[0]
			if strings.Contains(g, function) && !strings.Contains(header, "run") {
				found = true
			}
		}
		if !found {
			return false
		}
	}
	return true
}
