//go:build !linux

package testfuse

// Main does nothing: there are no mounts to serve here.
func Main() {}
