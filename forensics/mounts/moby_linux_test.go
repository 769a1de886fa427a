package mounts

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
)

// moby makes of a mount what github.com/moby/sys/mountinfo makes of its line.
func moby(m Mount) mountinfo.Info {
	var optional []string
	for _, group := range []struct {
		tag string
		id  int
	}{{"shared", m.Shared}, {"master", m.Master}, {"propagate_from", m.PropagateFrom}} {
		if group.id != 0 {
			optional = append(optional, fmt.Sprintf("%s:%d", group.tag, group.id))
		}
	}
	if m.Unbindable {
		optional = append(optional, "unbindable")
	}
	info := mountinfo.Info{
		ID: m.ID, Parent: m.ParentID, Root: m.Root, Mountpoint: m.MountPoint, Options: m.Options,
		Optional: strings.Join(optional, " "), FSType: m.FSType, Source: m.Source, VFSOptions: m.SuperOptions,
	}
	_, _ = fmt.Sscanf(m.Device, "%d:%d", &info.Major, &info.Minor)
	return info
}

// TestParseLikeMoby parses with both. They agree on all that the kernel prints. They differ, and are not compared, where
// it would not: moby undoes escapes below \200 only, takes "x" for 0 as an id, looks for the separator from the end
// of the line, gives up the whole table for one bad line, and drops what follows a space in the superblock options.
func TestParseLikeMoby(t *testing.T) {
	tables := captures(t)
	tables["many"] = manyMounts(3000)
	tables["quirks"] = []byte(`36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
1 2 0:5 / /a rw shared:7 master:8 propagate_from:9 unbindable - tmpfs none rw
1 2 0:5 /a\040b\134c /tab\011nl\012sp\040bs\134end rw - fuse.my\040fs \043host:/x\040y rw,lowerdir=/a\054b
1 2 0:5 / /a\134040 rw - tmpfs a\134134 rw
1 2 0:5 / /a rw - tmpfs  rw,size=1k
1 2 0:5 / /a rw - tmpfs - rw
652 25 0:4 net:[4026532277] /run/netns/cni-1 rw shared:331 - nsfs nsfs rw
1 1 0:2 / / rw - rootfs rootfs rw
`)
	for name, text := range tables {
		list, errs := Parse(bytes.NewReader(text))
		if len(errs) != 0 {
			t.Errorf("%s: %v", name, errs)
		}
		want, err := mountinfo.GetMountsFromReader(bytes.NewReader(text), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := make([]*mountinfo.Info, len(list))
		for i, m := range list {
			info := moby(m)
			got[i] = &info
		}
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s: -moby +this:\n%s", name, cmp.Diff(want, got))
		}
	}
}

func BenchmarkParseMoby(b *testing.B) {
	text := manyMounts(3000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mountinfo.GetMountsFromReader(bytes.NewReader(text), nil); err != nil {
			b.Fatal(err)
		}
	}
}
