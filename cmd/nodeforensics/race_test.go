//go:build race

package main

// raceEnabled says that the program under test is built with the race detector, too.
const raceEnabled = true
