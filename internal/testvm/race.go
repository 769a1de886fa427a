//go:build race

package testvm

const raceEnabled = true
