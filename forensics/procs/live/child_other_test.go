//go:build !linux

package live

func childMain() {}
