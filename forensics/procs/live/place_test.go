package live

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// table is a node with a dead CephFS volume, an NFS share and a container's root.
func table() *mounts.Index {
	mount := func(id, parent int, device, point, fsType string) mounts.Mount {
		return mounts.Mount{
			ID: id, ParentID: parent, Device: device, Root: "/", MountPoint: point, FSType: fsType, Class: mounts.ClassOf(fsType),
		}
	}
	t := mounts.Table{Mounts: []mounts.Mount{
		mount(1, 0, "254:0", "/", "ext4"),
		mount(2, 1, "0:20", "/proc", "proc"),
		mount(3, 1, "0:21", "/tmp", "tmpfs"),
		mount(4, 1, "8:1", "/media/ssd1", "xfs"),
		mount(5, 4, "0:46", "/media/ssd1/kubelet/pods/u/volumes/fuse/v", "fuse.ceph-fuse"),
		mount(6, 1, "0:47", "/srv", "nfs4"),
		mount(7, 1, "0:48", "/run/rootfs", "overlay"),
		mount(8, 1, "0:49", "/net", "autofs"),
		mount(9, 1, "0:50", "/odd", "oddfs"),
	}}
	return t.Index()
}

// links are the symbolic links of that node. Any other path that is asked for is no link, except where asking is wrong.
type links struct {
	t *testing.T
	m map[string]string
}

func (l links) readLink(name string) (string, error) {
	m, _ := table().Covering(name)
	if !mayFollow(m) {
		l.t.Errorf("readLink(%q) on %s", name, m.FSType)
	}
	switch to, ok := l.m[name]; {
	case to == "missing":
		return "", fs.ErrNotExist
	case ok:
		return to, nil
	}
	return "", errNotLink
}

func TestChoose(t *testing.T) {
	const volume = "/media/ssd1/kubelet/pods/u/volumes/fuse/v"
	arg := func(paths ...string) (list []target) {
		for _, p := range paths {
			list = append(list, target{path: p, from: fromArgument})
		}
		return list
	}
	at := func(path string, id int, device string) place { return place{path, fromArgument, id, device} }
	for name, tc := range map[string]struct {
		fs      string
		targets []target
		want    place
	}{
		"plain":                     {"fuse", arg(volume + "/f"), at(volume+"/f", 5, "0:46")},
		"the mount point":           {"fuse", arg(volume), at(volume, 5, "0:46")},
		"symlinked kubelet root":    {"fuse", arg("/var/lib/kubelet/pods/u/volumes/fuse/v"), at("/var/lib/kubelet/pods/u/volumes/fuse/v", 5, "0:46")},
		"a lock behind a link":      {"", arg("/var/lib/kubelet/pods/u/volumes/fuse/v"), at("/var/lib/kubelet/pods/u/volumes/fuse/v", 5, "0:46")},
		"relative link":             {"nfs", arg("/data/rel/x"), at("/data/rel/x", 6, "0:47")},
		"link to a link":            {"nfs", arg("/data/two/x"), at("/data/two/x", 6, "0:47")},
		"link in a container":       {"nfs", arg("/run/rootfs/data/x"), at("/run/rootfs/data/x", 6, "0:47")},
		"parent behind a link":      {"nfs", arg("/data/rel/../srv/y"), at("/data/rel/../srv/y", 6, "0:47")},
		"links in a circle":         {"nfs", arg("/loop/x"), place{path: "/loop/x", from: fromArgument}},
		"missing on the way":        {"nfs", arg("/gone/x"), place{path: "/gone/x", from: fromArgument}},
		"wait contradicts":          {"nfs", arg(volume), place{path: volume, from: fromArgument}},
		"wait contradicts the disk": {"fuse", arg("/etc/x"), place{path: "/etc/x", from: fromArgument}},
		"wait on a tmpfs":           {"nfs", arg("/tmp/x"), place{path: "/tmp/x", from: fromArgument}},
		"overlay waits for a layer": {"xfs", arg("/run/rootfs/bin/sh"), at("/run/rootfs/bin/sh", 7, "0:48")},
		"disk":                      {"ext4", arg("/etc/x"), at("/etc/x", 1, "254:0")},
		"autofs":                    {"autofs", arg("/net/host"), at("/net/host", 8, "0:49")},
		"unknown type":              {"oddfs", arg("/odd/x"), at("/odd/x", 9, "0:50")},
		"second path fits":          {"nfs", arg("/etc/a", "/srv/b"), at("/srv/b", 6, "0:47")},
		"first of two":              {"", arg("/etc/a", "/srv/b"), at("/etc/a", 1, "254:0")},
		"descriptor":                {"nfs", []target{{path: "/x", from: fromDescriptor, mountID: 6}}, place{"/x", fromDescriptor, 6, "0:47"}},
		"descriptor, stacked mount": {"fuse", []target{{path: "/srv/x", from: fromDescriptor, mountID: 5}}, place{"/srv/x", fromDescriptor, 5, "0:46"}},
		"descriptor, detached":      {"fuse", []target{{path: "/x", from: fromDescriptor, mountID: 99}}, place{"/x", fromDescriptor, 99, ""}},
		"below a descriptor":        {"nfs", []target{{path: "/srv/x", from: fromArgument, below: 6}}, at("/srv/x", 6, "0:47")},
		"below a covered directory": {"fuse", []target{{path: volume + "/x", from: fromArgument, below: 5}}, at(volume+"/x", 5, "0:46")},
		"link below a descriptor":   {"nfs", []target{{path: "/data/rel/x", from: fromArgument, below: 1}}, at("/data/rel/x", 6, "0:47")},
		"nothing":                   {"fuse", nil, place{}},
	} {
		t.Run(name, func(t *testing.T) {
			l := links{t, map[string]string{
				"/var/lib/kubelet":  "/media/ssd1/kubelet",
				"/data/rel":         "../srv",
				"/data/two":         "/data/rel",
				"/run/rootfs/data":  "/srv",
				"/loop":             "/loop",
				"/gone":             "missing",
				"/srv/never-looked": "/etc",
			}}
			w := where{table: table(), fs: tc.fs, readLink: l.readLink}
			if diff := cmp.Diff(tc.want, w.choose(tc.targets), cmp.AllowUnexported(place{})); diff != "" {
				t.Errorf("choose (-want +got):\n%s", diff)
			}
		})
	}
}

// TestChooseChrooted looks for paths of a process whose root is /media/ssd1.
func TestChooseChrooted(t *testing.T) {
	l := links{t, map[string]string{"/jump": "/kubelet/pods/u/volumes/fuse/v"}}
	read := func(name string) (string, error) {
		if _, err := l.readLink("/media/ssd1" + name); err == nil {
			t.Errorf("readLink(%q) outside of the root", name)
		}
		return l.readLink(name)
	}
	w := where{table: table(), root: "/media/ssd1", fs: "fuse", readLink: read}
	for _, name := range []string{"/kubelet/pods/u/volumes/fuse/v/f", "/jump/f", "/../jump/f"} {
		got := w.choose([]target{{path: name, from: fromArgument}})
		if want := (place{name, fromArgument, 5, "0:46"}); got != want {
			t.Errorf("choose = %+v; want %+v", got, want)
		}
	}
}

func TestChooseWithoutTable(t *testing.T) {
	w := where{fs: "fuse"}
	got := w.choose([]target{{path: "/x", from: fromDescriptor, mountID: 7}})
	want := place{path: "/x", from: fromDescriptor, mountID: 7}
	if got != want {
		t.Errorf("choose = %+v; want %+v", got, want)
	}
}

func TestChooseWhatIsNotWaitedFor(t *testing.T) {
	w := where{table: table(), fs: "ext4", elsewhere: true}
	if p := w.choose([]target{{path: "/file", from: fromArgument}}); p != (place{path: "/file", from: fromArgument}) {
		t.Errorf("%+v, want a path and no mount", p)
	}
}

// TestMayWaitOn has types of mounts and what the kernel's functions are called that threads wait in there.
func TestMayWaitOn(t *testing.T) {
	for _, c := range []struct {
		fsType, wait string
		want         bool
	}{
		{"virtiofs", "fuse", true},
		{"virtiofs", "nfs", false},
		{"fuseblk", "fuse", true},
		{"fuse.sshfs", "nfs", false},
		{"smb3", "cifs", true},
		{"smbfs", "cifs", true},
		{"lustre_lite", "lustre", true},
		{"ext3", "ext4", true},
		{"ntfs", "ntfs3", true},
		{"xfs", "ext4", false},
		{"autofs", "autofs", true},
		{"autofs", "nfs", false},
		{"tmpfs", "ext4", false},
		{"tmpfs", "", true},
		{"overlay", "xfs", true},
		{"a new one", "xfs", true},
	} {
		if got := mayWaitOn(c.wait, mounts.Mount{FSType: c.fsType, Class: mounts.ClassOf(c.fsType)}); got != c.want {
			t.Errorf("mayWaitOn(%q, %s) = %t", c.wait, c.fsType, got)
		}
	}
}
