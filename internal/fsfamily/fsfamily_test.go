package fsfamily

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for fsType, want := range map[string]Family{
		"nfs4":               {Name: NameNFS, Class: Network},
		"smb3":               {Name: NameCIFS, Class: Network},
		"virtiofs":           {Name: NameFUSE, Class: Network},
		"fuse.ceph-fuse":     {Name: NameFUSE, Class: FUSE},
		"fuseblk.ntfs-3g":    {Name: NameFUSE, Class: FUSE},
		"ext3":               {Name: "ext4", Class: Block},
		"btrfs":              {Name: "btrfs", Class: Block, OwnDevices: true},
		"xfs":                {Name: "xfs", Class: Block},
		"overlayfs":          {Name: "overlay", Class: Overlay, OwnDevices: true},
		"squashfs":           {Name: "squashfs", Class: Block, ReadOnly: true},
		"fusectl":            {Name: "fusectl", Class: Pseudo},
		"a new one.whatever": {Name: "a new one", Class: Unknown},
		"":                   {Class: Unknown},
	} {
		got := Of(fsType)
		got.types = ""
		if got != want {
			t.Errorf("Of(%q) = %+v; want %+v", fsType, got, want)
		}
	}
}

// TestTable: a type stands in one row, and a family is found by its own name, so that waits and mounts meet.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range families {
		for name := range strings.FieldsSeq(f.types) {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		if f.Name != "" && Of(f.Name).Name != f.Name {
			t.Errorf("no type is named as the family %s", f.Name)
		}
	}
}
