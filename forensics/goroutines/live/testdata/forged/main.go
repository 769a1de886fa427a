// Command forged has a list of goroutines of which most are none: with stacks that never end, of any length, and outside of its memory. Its arguments
// are where the runtime of its version keeps what is read of one: the offsets of the stack pointer, the program counter, the own address, the
// thread, the state and the number, and the size.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

//go:linkname allgs runtime.allgs
var allgs []unsafe.Pointer

const count = 100_000

func memory(n int) []uint64 {
	b, err := syscall.Mmap(-1, 0, 8*n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		panic(err)
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), n)
}

//go:noinline
func here() uint64 {
	pcs := make([]uintptr, 1)
	runtime.Callers(2, pcs)
	return uint64(pcs[0])
}

func main() {
	debug.SetGCPercent(-1) // the collector believes the list
	var at []uint64
	for _, arg := range os.Args[1:] {
		n, _ := strconv.ParseUint(arg, 10, 64)
		at = append(at, n/8)
	}
	sp, pc, own, m, status, id, size := at[0], at[1], at[2], at[3], at[4], at[5], at[6]
	stack := memory(1 << 17)
	for i := range stack {
		stack[i] = here()
	}
	low := uint64(uintptr(unsafe.Pointer(&stack[0])))
	gs := memory(count * int(size))
	list := memory(len(allgs) + count)
	for i, g := range allgs { // some are real
		list[i] = uint64(uintptr(g))
	}
	forged := list[len(allgs):]
	for i := range count {
		g := gs[i*int(size):]
		self := uint64(uintptr(unsafe.Pointer(&g[0])))
		g[0], g[1] = low, low+8*uint64(len(stack)) // a loop
		switch i % 8 {
		case 1:
			g[0], g[1] = 0, 1<<63
		case 2:
			g[0], g[1] = 1<<63, 1<<63+4096
		case 3:
			g[0], g[1] = ^uint64(0)-4096, ^uint64(0)
		case 4:
			g[0], g[1] = low, low+1<<31
		}
		g[sp], g[pc], g[own], g[m], g[status], g[id] = g[0]+64, here(), self, self, 4, uint64(i+1000)
		forged[i] = self
	}
	allgs = unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(&list[0])), len(list))
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
