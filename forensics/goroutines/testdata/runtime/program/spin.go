package main

import (
	"os"
	"syscall"
	"time"
)

var n int

//go:noinline
func work(stop *bool) {
	for !*stop {
		n++
	}
}

func main() {
	stop := false
	go work(&stop)
	go work(&stop)
	time.Sleep(200 * time.Millisecond)
	syscall.Kill(os.Getpid(), syscall.SIGABRT)
	time.Sleep(time.Hour)
}
