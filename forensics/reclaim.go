package forensics

import "strings"

// DiskOf is the superblock that takes what is written to a superblock: for an overlay, whose changes go to its upper
// directory, that of this directory; else the same.
func DiskOf(m *Model, device string) string {
	for _, mount := range m.MountsOf(device) {
		if mount.FSType != "overlay" {
			return device
		}
		for option := range strings.SplitSeq(mount.SuperOptions, ",") {
			if upper, ok := strings.CutPrefix(option, "upperdir=/"); ok {
				if at, ok := m.host.Covering("/" + upper); ok {
					return at.Device
				}
			}
		}
	}
	return device
}
