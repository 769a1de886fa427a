//go:build !race

package testvm

const raceEnabled = false
