//go:build !linux

package procs

func childMain() {}
