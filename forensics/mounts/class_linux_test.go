package mounts

import (
	"os"
	"strings"
	"testing"
)

// TestClassOfKernel wants a class for every file system that the running kernel has.
func TestClassOfKernel(t *testing.T) {
	text, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		name := fields[len(fields)-1]
		needsDevice := fields[0] != "nodev"
		class := ClassOf(name)
		if class == ClassUnknown {
			t.Errorf("type %s of this kernel has no class", name)
		}
		// What needs a block device is on one, but for FUSE and the disks of a cluster.
		if needsDevice && class != ClassBlock && class != ClassFUSE && class != ClassNetwork {
			t.Errorf("ClassOf(%q) = %s although it needs a block device", name, class)
		}
	}
}
