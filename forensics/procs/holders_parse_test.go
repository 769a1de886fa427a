package procs

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

func TestMappedFile(t *testing.T) {
	for name, c := range map[string]struct {
		line   string
		device string
		path   string
		ok     bool
	}{
		"a library":        {"7f1c-7f1d r-xp 00000000 08:02 173521                     /usr/lib/libc.so.6", "8:2", "/usr/lib/libc.so.6", true},
		"a name of blanks": {"7f1c-7f1d r--s 00000000 103:0a 17      /a b  (deleted)", "259:10", "/a b  (deleted)", true},
		"a large minor":    {"7f1c-7f1d r--s 00000000 00:fffff 17 /x", "0:1048575", "/x", true},
		"no file":          {"7f1c-7f1d rw-p 00000000 00:00 0 ", "", "", false},
		"the stack":        {"7ffc-7ffd rw-p 00000000 00:00 0                          [stack]", "", "", false},
		"a packet socket":  {"7f1c-7f1d rw-s 00000000 00:08 4711                       socket:[4711]", "", "", false},
		"cut":              {"7f1c-7f1d r-xp", "", "", false},
		"no number":        {"7f1c-7f1d r-xp 00000000 zz:02 17 /x", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			device, path, ok := mappedFile([]byte(c.line))
			if ok != c.ok || ok && (spellDevice(device) != c.device || string(path) != c.path) {
				t.Errorf("%s %q %v, want %s %q %v", spellDevice(device), path, ok, c.device, c.path, c.ok)
			}
		})
	}
}

func TestInfoNumber(t *testing.T) {
	const text = "pos:\t0\nflags:\t02100002\nmnt_id:\t59\nino:\t7\nfuse_connection:\t46\n"
	for key, want := range map[string]uint64{"mnt_id:": 59, "fuse_connection:": 46, "none:": 0, "no": 0} {
		if got := infoNumber([]byte(text), key); got != want {
			t.Errorf("%s %d, want %d", key, got, want)
		}
	}
}

func TestMarkOf(t *testing.T) {
	for line, want := range map[string]holders.Mark{
		"inotify wd:1 ino:9e7e sdev:800013 mask:800afce ignored_mask:0 fhandle-bytes:8 fhandle-type:1 f_handle:7e9e\n": {Device: "8:19"},
		"inotify wd:2 ino:1 sdev:3a mask:100 ignored_mask:0\n":                                                         {Device: "0:58"},
		"fanotify ino:4f969 sdev:800013 mflags:0 mask:3b ignored_mask:40000000\n":                                      {Device: "8:19"},
		"fanotify mnt_id:12 mflags:0 mask:3b ignored_mask:40000000\n":                                                  {MountID: 18},
		"fanotify flags:10 event-flags:0\n":                                                                            {},
		"inotify sdev:zz\n":                                                                                            {},
		"mnt_id:\t12\n":                                                                                                {},
	} {
		device, mountID, ok := markOf([]byte(line))
		if device != want.Device || mountID != want.MountID || ok != (want != holders.Mark{}) {
			t.Errorf("%q: %q %d %v, want %+v", line, device, mountID, ok, want)
		}
	}
}

func FuzzMappedFile(f *testing.F) {
	f.Add([]byte("7f1c-7f1d r-xp 00000000 08:02 173521    /usr/lib/libc.so.6"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if _, path, ok := mappedFile(line); ok && (len(path) == 0 || path[0] != '/' || len(path) > len(line)) {
			t.Errorf("path %q of %q", path, line)
		}
	})
}

// TestIndexFor compares the index of what matters to a path with that of all mounts.
func TestIndexFor(t *testing.T) {
	table := mounts.Table{Mounts: []mounts.Mount{
		{ID: 1, MountPoint: "/"},
		{ID: 2, ParentID: 1, MountPoint: "/a"},
		{ID: 3, ParentID: 2, MountPoint: "/a/b"},
		{ID: 4, ParentID: 2, MountPoint: "/a"},   // covers 2 and with it 3
		{ID: 5, ParentID: 4, MountPoint: "/a/c"}, // is seen
		{ID: 6, ParentID: 1, MountPoint: "/x/y"},
		{ID: 7, ParentID: 6, MountPoint: "/x/y"},
	}}
	paths := []string{"/", "/a", "/a/b/file", "/a/c/file", "/a/d", "/ab", "/x", "/x/y/z", "/x/yz", "relative"}
	all := table.Index()
	for _, p := range paths {
		want, ok := all.Covering(p)
		got, found := indexFor(&table, []*holdings{{holds: []hold{{at: &named{path: p}}}}}).Covering(p)
		if want.ID != got.ID || ok != found {
			t.Errorf("%s is on mount %d, %v; want %d, %v", p, got.ID, found, want.ID, ok)
		}
	}
}

func TestPlainPaths(t *testing.T) {
	var p plainPaths
	p.take(&mounts.Table{Namespace: 1, Mounts: []mounts.Mount{
		{ID: 1, Device: "8:1", Root: "/", MountPoint: "/"},
		{ID: 2, ParentID: 1, Device: "0:50", Root: "/", MountPoint: "/nfs"},
		{ID: 3, ParentID: 1, Device: "8:1", Root: "/var/lib/kubelet", MountPoint: "/var/lib/kubelet"},
		{ID: 4, ParentID: 1, Device: "8:1", Root: "/srv", MountPoint: "/mnt"},
		{ID: 5, ParentID: 1, Device: "0:51", Root: "/", MountPoint: "/twice"},
		{ID: 6, ParentID: 5, Device: "0:52", Root: "/", MountPoint: "/twice"},
		{ID: 7, ParentID: 1, Device: "0:53", Root: "/", MountPoint: "/top/inner"},
		{ID: 8, ParentID: 1, Device: "0:54", Root: "/", MountPoint: "/top"},
	}})
	for name, want := range map[string]bool{
		"/nfs/file": true, "/nfs": true, "/mnt/file": true,
		"/file":                 false, // may be on a mount that was detached
		"/var/lib/kubelet/file": false, // a directory mounted on itself
		"/twice/file":           false, // one covers the other
		"/top/inner/file":       false, // covered by what is mounted above it
	} {
		if got := p.leaveNoDoubt(&named{path: name}); got != want {
			t.Errorf("%s leaves no doubt: %v, want %v", name, got, want)
		}
	}
	if (&plainPaths{namespace: noNamespace}).leaveNoDoubt(&named{path: "/nfs/file"}) {
		t.Error("without a table, a path leaves no doubt")
	}
}

func TestMaybeKernels(t *testing.T) {
	info := []byte("pos:\t0\nflags:\t0500002\nmnt_id:\t9\n") // with O_LARGEFILE, as of a file that a program opened
	for name, want := range map[string]bool{"/null": true, "/nullable": false, "/dev/null": false, "/file": false} {
		if got := maybeKernels(name, info); got != want {
			t.Errorf("%s may be on a mount of the kernel's own: %v, want %v", name, got, want)
		}
	}
}

// TestUnderTheRoot has a file of an initramfs open, as daemons have that were started before the root was mounted over it:
// its mount is in no table, and nobody has unmounted it.
func TestUnderTheRoot(t *testing.T) {
	r := resolver{deviceOf: map[int32]string{1: ""}, known: map[string]bool{}, tables: map[uint64]bool{}, under: map[int32]bool{}}
	r.note(&mounts.Table{Namespace: 5, Root: "/", Mounts: []mounts.Mount{{ID: 27, ParentID: 1, Device: "8:1", MountPoint: "/"}}})
	h := hold{at: &named{path: "/usr/sbin/mdmon"}, kind: atFD, mount: 1}
	if r.byMountID(&holdings{pid: 2, ns: 5}, &h); h.detached || h.gone {
		t.Errorf("hold %+v: want one that is neither detached nor gone", h)
	}
}
