// Command blocked has one goroutine of each kind and dumps them.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"

	yaml "gopkg.in/yaml.v2"
	"k8s.io/utils/mount"
)

type locker struct {
	mu sync.Mutex
	rw sync.RWMutex
	wg sync.WaitGroup
}

func (l *locker) lock()  { l.mu.Lock() }
func (l *locker) rlock() { l.rw.RLock() }
func (l *locker) wait()  { l.wg.Wait() }

type pair struct {
	a string
	b int32
}

//go:noinline
func recurse(n int, p pair, c chan int) int {
	if n == 0 {
		return <-c
	}
	return recurse(n-1, p, c) + 1
}

func main() {
	dir, fifo, wait := os.Args[1], os.Args[2], os.Args[3]
	syscall.Mkfifo(fifo, 0600)
	l := &locker{}
	l.mu.Lock()
	l.rw.Lock()
	l.wg.Add(1)
	go l.lock()
	go l.rlock()
	go func() { l.wait() }()
	m := mount.New("")
	go m.IsLikelyNotMountPoint(fifo)
	var child *exec.Cmd
	ready := make(chan bool)
	go func() {
		child = exec.Command("sleep", "600")
		child.Start()
		ready <- true
		child.Wait()
	}()
	<-ready
	d := &yaml.Decoder{C: make(chan int)}
	go d.Decode()
	go recurse(150, pair{"x", 7}, d.C)
	go recurse(3, pair{"x", 7}, d.C)
	go func() { var c chan int; c <- 1 }()
	go func() { make(chan int) <- 1 }()
	go func() {
		runtime.LockOSThread()
		select {}
	}()
	go func() { time.Sleep(time.Hour) }()
	time.Sleep(300 * time.Millisecond)
	runtime.GC()
	t, _ := time.ParseDuration(wait)
	time.Sleep(t)
	for i := 0; i < 3; i++ {
		f, _ := os.Create(fmt.Sprintf("%s/debug%d", dir, i))
		pprof.Lookup("goroutine").WriteTo(f, i)
		f.Close()
	}
	f, _ := os.Create(dir + "/child")
	fmt.Fprintln(f, child.Process.Pid)
	f.Close()
	child.Process.Kill()
	switch os.Args[4] {
	case "panic":
		var s *pair
		fmt.Println(s.a)
	case "abort":
		syscall.Kill(os.Getpid(), syscall.SIGABRT)
		time.Sleep(time.Hour)
	}
}
