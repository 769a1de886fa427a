package hostfs

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const autofsLine = "62 24 0:52 / /data rw,relatime shared:29 - autofs systemd-1 rw,fd=58,pgrp=1,timeout=0,minproto=5,maxproto=5,direct\n"

func TestParseMountPoints(t *testing.T) {
	const (
		root = "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		nfs  = "70 62 0:60 / /data rw,relatime shared:40 master:2 - nfs4 server:/data rw\n"
	)
	for _, c := range []struct {
		name, table  string
		all, trigger []string
	}{
		{name: "empty"},
		{name: "trigger", table: root + autofsLine, all: []string{"/", "/data"}, trigger: []string{"/data"}},
		{name: "trigger with the mount on it", table: root + autofsLine + nfs, all: []string{"/", "/data"}},
		{name: "trigger on a mount", table: root + nfs + autofsLine, all: []string{"/", "/data"}, trigger: []string{"/data"}},
		{
			name:  "no optional fields, and the word in other places",
			table: "24 1 8:1 / /autofs rw - ext4 autofs rw\n25 1 0:3 / /a\\040-\\040autofs rw - tmpfs tmpfs rw\n",
			all:   []string{"/a - autofs", "/autofs"},
		},
		{name: "cut line", table: root + "62 24 0:52 / /da", all: []string{"/"}},
		{name: "short line", table: "62 24 0:52 / - autofs x rw\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := parseMountPoints([]byte(c.table))
			var all []string
			for point := range p.all() {
				all = append(all, point)
			}
			slices.Sort(all)
			if diff := cmp.Diff(c.all, all); diff != "" {
				t.Errorf("all: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(c.trigger, p.autofs); diff != "" {
				t.Errorf("autofs: -want +got\n%s", diff)
			}
		})
	}
}

func TestTriggerOn(t *testing.T) {
	p := parseMountPoints([]byte(autofsLine))
	for _, c := range []struct {
		dir, rel string
		want     bool
	}{
		{"/", "data", true},
		{"/", "./data/", true},
		{"/", "data/x/y", true},
		{"/", "data2", false},
		{"/", "dat", false},
		{"/", ".", false},
		{"/", "other/data", false},
		{"/data/", "x", false}, // whoever stands in it has decided
		{"/data/", ".", false},
		{"/mnt/", "data", false},
	} {
		if got := p.triggerOn(c.dir, c.rel); got != c.want {
			t.Errorf("%s and %s: %v", c.dir, c.rel, got)
		}
	}
	if (&mountPoints{}).triggerOn("/", "data") {
		t.Error("no table, but a trigger")
	}
}

func TestMountTableIsReadAgainWhenItChanges(t *testing.T) {
	noDescriptorsLost(t)
	point := t.TempDir()
	table := &mountTable{}
	defer table.close()
	first := table.current()
	if !first.has("/") {
		t.Fatalf("the root is not mounted: %v", first.all())
	}
	if first.has(point) {
		t.Fatal("mounted before its time")
	}
	mount(t, "tmpfs", point, "tmpfs", 0)
	if !table.current().has(point) {
		t.Error("the new mount is not seen")
	}
	must(t, unix.Unmount(point, 0))
	if table.current().has(point) {
		t.Error("the mount is seen for ever")
	}
}

func TestMountTableAfterClose(t *testing.T) {
	noDescriptorsLost(t)
	var unused mountTable
	unused.close()
	if p := unused.current(); p == nil || p.all != nil {
		t.Errorf("never opened: %v", p)
	}
	var used mountTable
	before := used.current()
	used.close()
	if used.current() != before {
		t.Error("the last state is forgotten")
	}
}

func FuzzParseMountPoints(f *testing.F) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	must(f, err)
	f.Add(table)
	f.Add([]byte(autofsLine))
	f.Fuzz(func(t *testing.T, table []byte) {
		p := parseMountPoints(table)
		if lines := strings.Count(string(table), "\n") + 1; len(p.all()) > lines || len(p.autofs) > len(p.all()) {
			t.Errorf("%d mount points, %d of them triggers, in %d lines", len(p.all()), len(p.autofs), lines)
		}
		for _, point := range p.autofs {
			if !p.has(point) {
				t.Errorf("%q is a trigger but no mount point", point)
			}
		}
	})
}
