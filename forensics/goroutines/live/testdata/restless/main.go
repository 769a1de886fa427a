// Command restless has goroutines that start, end, and go into and out of two chains of calls all the time. At a line, it becomes another
// program.
package main

import (
	"bufio"
	"fmt"
	"os"
	"syscall"
)

var c, done = make(chan int), make(chan int, 64)

//go:noinline
func even3() { <-c }

//go:noinline
func even2(a [100]byte) byte { even3(); return a[len(done)] }

//go:noinline
func even1(a [200]byte) byte { return even2([100]byte{a[1]}) }

//go:noinline
func odd3() { c <- 1 }

//go:noinline
func odd2(a [150]byte) byte { odd3(); return a[len(done)] }

//go:noinline
func odd1(a [50]byte) byte { return odd2([150]byte{a[1]}) }

//go:noinline
func work(n int) (sum byte) {
	for i := 0; i < 1000; i++ {
		if (n+i)%2 == 0 {
			sum += even1([200]byte{})
		} else {
			sum += odd1([50]byte{})
		}
	}
	return sum
}

func begin(n int) {
	work(n)
	done <- n
}

func main() {
	for n := 0; n < 2000; n++ {
		go begin(n)
	}
	fmt.Println("ready")
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		_ = syscall.Exec("/bin/sleep", []string{"sleep", "60"}, nil)
	}()
	for n := range done {
		go begin(n)
	}
}
