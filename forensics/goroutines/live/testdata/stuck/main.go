// Command stuck blocks on a file of a file system that stops to answer, in the way that it is told: "exec" becomes that file, "thread"
// becomes another program while a thread is blocked, and "mmap" waits for the file with the lock of its memory.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// The first thread calls execve: if another one did, the first would end, and with it what /proc/PID has of the memory.
func init() { runtime.LockOSThread() }

var sum byte

//go:noinline
func touch(page []byte) { sum += page[0] }

//go:noinline
func become(name string) { _ = syscall.Exec(name, []string{"other", "60"}, nil) }

//go:noinline
func look(name string) { _, _ = os.Stat(name) }

//go:noinline
func mapped(fd int) {
	_, _ = syscall.Mmap(fd, 0, 4096, syscall.PROT_READ, syscall.MAP_PRIVATE)
}

func main() {
	how, name := os.Args[1], os.Args[2]
	in := bufio.NewReader(os.Stdin)
	cached, err := os.Open(name)
	page, err2 := syscall.Mmap(int(cached.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
	direct, err3 := syscall.Open(name, syscall.O_RDONLY|syscall.O_DIRECT, 0) // mapping it takes all pages of the file out of memory
	fmt.Println("ready", err, err2, err3)
	_, _ = in.ReadString('\n')
	switch how {
	case "exec":
		become(name)
	case "thread":
		go look(name)
	case "mmap":
		go touch(page)
	}
	_, _ = in.ReadString('\n')
	switch how {
	case "thread":
		become("/bin/sleep")
	case "mmap":
		mapped(direct)
	}
	time.Sleep(time.Hour)
}
