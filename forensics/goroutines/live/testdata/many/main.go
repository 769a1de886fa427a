// Command many has as many goroutines as it is told, in stacks of several depths.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

//go:noinline
func call(n int, f func()) {
	if n > 0 {
		call(n-1, f)
		return
	}
	f()
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	var mu sync.Mutex
	mu.Lock()
	c := make(chan int)
	waits := []func(){func() { mu.Lock() }, func() { <-c }, func() { time.Sleep(time.Hour) }, func() { select {} }}
	for i := 0; i < n; i++ {
		go call(i%12, waits[i%len(waits)])
	}
	time.Sleep(time.Second)
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
