// Command program has a goroutine in each state that Go 1.13 and later know. It writes its own dump to the file it is told, says so, and waits.
package main

import (
	"bytes"
	"fmt"
	"io/ioutil"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"
)

type locker struct{ mu sync.Mutex }

func (l *locker) lock() { l.mu.Lock() }

func deep(n int, c chan int) int {
	if n == 0 {
		return <-c
	}
	return deep(n-1, c) + 1
}

func outer(c chan int) int  { return middle(c) }
func middle(c chan int) int { return inner(c) }
func inner(c chan int) int  { return <-c }

//go:noinline
func growing(n int, c chan int) byte {
	var big [1 << 12]byte
	big[n%len(big)] = 1
	if n == 0 {
		<-c
		return big[0]
	}
	return growing(n-1, c) + big[1]
}

type caller interface{ call(c chan int) }
type byValue struct{ _ int }

func (byValue) call(c chan int) { c <- 1 }

func main() {
	c, full := make(chan int), make(chan int)
	l := &locker{}
	l.mu.Lock()
	var rw sync.RWMutex
	rw.Lock()
	cond := sync.NewCond(&sync.Mutex{})
	var group sync.WaitGroup
	group.Add(1)
	read, write, _ := os.Pipe()
	var fds [2]int
	_ = syscall.Pipe(fds[:])
	go l.lock()
	go func() { rw.RLock() }()
	go func() { rw.Lock() }()
	go func() { cond.L.Lock(); cond.Wait() }()
	go group.Wait()
	go deep(30, c)
	go deep(300, c)
	go func() { _ = outer(c) }()
	go growing(200, c)
	go func() {
		select {
		case <-c:
		case full <- 1:
		}
	}()
	go func() { time.Sleep(time.Hour) }()
	go func() { select {} }()
	go func() { <-(chan int)(nil) }()
	go func() { b := make([]byte, 1); _, _ = read.Read(b) }()
	go func() { b := make([]byte, 1); _, _ = syscall.Read(fds[0], b) }()
	go func() { runtime.LockOSThread(); <-c }()
	go func() { var i caller = &byValue{}; i.call(full) }()
	go func() { defer func() { <-c }(); panicking() }()
	for i := 0; i < 100; i++ {
		go func() { <-c }()
	}
	time.Sleep(300 * time.Millisecond)
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 2)
	_ = ioutil.WriteFile(os.Args[1], b.Bytes(), 0600)
	fmt.Println("ready")
	time.Sleep(time.Hour)
	_, _ = write.Write(nil)
}

func panicking() {
	defer func() { _ = recover() }()
	var m map[string]int
	m["x"] = 1
}
