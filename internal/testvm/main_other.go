//go:build !linux

package testvm

// Main does nothing: there are no machines here.
func Main() {}
