//go:build !linux || !download

package testvm

// Main does nothing: there are no machines here, or nothing to make one of may be downloaded.
func Main() {}
