// Command blocked maps a file, says so, waits for a line, and then blocks on that file in several ways.
package main

import (
	"bufio"
	"fmt"
	"os"
	"syscall"
	"time"
)

var sum byte

//go:noinline
func touch(page []byte) { sum += page[0] }

//go:noinline
func look(name string) { _, _ = os.Stat(name) }

//go:noinline
func raw(fd int) {
	var b [8]byte
	_, _, _ = syscall.RawSyscall(syscall.SYS_PREAD64, uintptr(fd), 0, uintptr(len(b)))
}

func main() {
	f, err := os.Open(os.Args[1])
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
	fmt.Println("mapped", err)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	go touch(page)
	go look(os.Args[1])
	time.Sleep(time.Hour)
	raw(int(f.Fd()))
}
