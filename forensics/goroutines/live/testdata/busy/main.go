// Command busy has as many goroutines as it is told, of which some pass messages and allocate all the time. At each line it reads a
// duration, and prints the 99.9th percentile, in nanoseconds, of how much longer than asked for sleeps of 100 microseconds took meanwhile.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"
)

var sink []byte

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	c, never := make(chan []byte), make(chan int)
	for i := 0; i < n; i++ {
		go func() { <-never }()
	}
	for i := 0; i < 50; i++ {
		go func() {
			for b := range c {
				c <- append([]byte(nil), b...)
				time.Sleep(time.Millisecond)
			}
		}()
	}
	go func() { c <- make([]byte, 1000) }()
	fmt.Println("ready")
	const asked = 100 * time.Microsecond
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		span, _ := time.ParseDuration(in.Text())
		var late []time.Duration
		for began := time.Now(); time.Since(began) < span; {
			before := time.Now()
			time.Sleep(asked)
			late = append(late, time.Since(before)-asked)
		}
		sort.Slice(late, func(i, j int) bool { return late[i] < late[j] })
		fmt.Println(late[len(late)*999/1000].Nanoseconds())
	}
	sink = <-c
}
